"""The lines of a log outside of its exceptions: the fatal ones apart from the warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_gpumatrix.triage.failure_text import FailureText, Source
from pytest_gpumatrix.triage.log_lines import Kind, Line, is_exception
from pytest_gpumatrix.triage.plain_text import bounded

TEXT_LENGTH = 20_000  # characters of one exception, or of all output, that are searched, from each end
_TAKEN_BACK = 20  # lines of a candidate that a log says it ignores
_WARNING_LINES = 12  # lines of one warning of Python's
_IGNORED = re.compile(r"ignor(?:ed|ing) this (?:choice|config\w{0,10}|candidate|kernel)", re.IGNORECASE)
_WARNING_HEAD = re.compile(r":\d{1,7}: \w{0,60}Warning:")
_WARNING_CALL = re.compile(r"\s{1,8}(?:warnings\.)?warn\w{0,12}\(")
_FATAL = re.compile(
    r"error|fail|fatal|assert|abort|exception|not support|unsupported|unable|cannot|can't|could not|illegal|invalid|"
    r"kill|signal|oom|memory|kernel image|xid|ecc|warn|requires?|mismatch|terminat|no cuda|busy|lost|denied|nvml|gpu|"
    r"crash|exit|sm_\d|segmentation|core dumped|not found|undefined|timed out|too (?:old|new|many)|what\(\)|=====",
    re.IGNORECASE,
)


class Output:
    """Collects lines, in their order."""

    def __init__(self) -> None:
        self._fatal: list[str] = []
        self._quiet: list[str] = []
        self._warning_lines = 0  # that may still follow of a warning

    def take(self, line: Line) -> None:
        """A line outside of any exception. What a log says it ignores takes back the lines before it."""
        if line.kind is Kind.BLANK:
            return
        if _IGNORED.search(line.text):
            self._take_back()
            self._quiet.append(line.text)
        elif line.quiet or self._in_warning(line):
            self._quiet.append(line.text)
            if _WARNING_HEAD.search(line.text):
                self._warning_lines = _WARNING_LINES
        else:
            self._fatal.append(line.text)

    def quiet(self, text: str) -> None:
        """A line of a section that holds warnings only."""
        self._quiet.append(text)

    def texts(self) -> Iterator[FailureText]:
        """The fatal lines, then the warnings."""
        for lines, source in ((self._fatal, Source.OUTPUT), (self._quiet, Source.WARNING)):
            text = "\n".join(lines)
            if len(text) > 2 * TEXT_LENGTH:
                text = "\n".join(line for line in lines if _FATAL.search(line))
            if text:
                yield FailureText(text=bounded(text, TEXT_LENGTH), source=source)

    def _in_warning(self, line: Line) -> bool:
        """Whether the line goes on with a warning of Python's, which ends with the call that gave it."""
        self._warning_lines -= 1
        if self._warning_lines < 0 or line.kind is not Kind.TEXT:
            self._warning_lines = 0
            return False
        if _WARNING_CALL.match(line.text):
            self._warning_lines = 0
        return True

    def _take_back(self) -> None:
        for _ in range(_TAKEN_BACK):
            if not self._fatal:
                return
            taken = self._fatal.pop()
            self._quiet.append(taken)
            if not taken.startswith((" ", ".")) and not is_exception(taken):
                return
