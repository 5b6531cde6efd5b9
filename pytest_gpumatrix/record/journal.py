"""The journal of a running column: JSON lines, flushed one by one, so that it survives what JUnit does not.

A run that dies leaves a journal without its last line: the tests that had started crashed, the others are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.record.atomic import read_file
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.phase import Phase, cell_of

SCHEMA = 1
SESSION = "pytest"  # stands for a test where it is the session itself that has a result
_SPEAKS_OF_AN_END = (Outcome.CRASHED, Outcome.UNKNOWN)


class SessionLine(msgspec.Struct, tag="session", tag_field="event", frozen=True):
    """The first line: what made this journal."""

    device: str
    evidence: Evidence
    facts: SessionFacts
    schema: int = SCHEMA


class CollectedLine(msgspec.Struct, tag="collected", tag_field="event", frozen=True):
    """The tests that the session means to run; a gpu test with its marks as text."""

    tests: dict[str, str | None]


class StartLine(msgspec.Struct, tag="start", tag_field="event", frozen=True):
    """A test begins."""

    test: str


class PhaseLine(msgspec.Struct, tag="report", tag_field="event", frozen=True):
    """A report of a test."""

    phase: Phase


class FinishLine(msgspec.Struct, tag="finish", tag_field="event", frozen=True):
    """A test has ended, whatever came of it."""

    test: str


class EndLine(msgspec.Struct, tag="end", tag_field="event", frozen=True):
    """The last line of a session that ended in good order."""

    stopped: str | None = None  # why it stopped early: failures enough for -x, an interrupt
    interrupted: bool = False  # from outside (Ctrl-C, a cancelled job): of what had no result by then nobody knows


Line = SessionLine | CollectedLine | StartLine | PhaseLine | FinishLine | EndLine
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class JournalWriter:
    """Writes one line per event, and flushes each. The file is this process's own until it is closed."""

    def __init__(self, path: Path) -> None:
        self._file: IO[bytes] = path.open("ab")
        if not _lock(self._file):
            self._file.close()
            raise GpuMatrixError(f"{path}: another run is writing it; give each run a folder of its own")
        self._file.truncate(0)

    def write(self, line: Line) -> None:
        """Append one line."""
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; writing after this is an error."""
        self._file.close()


def read_journal(path: Path) -> tuple[Column, bool]:
    """The column that a journal tells of, and whether its session ended in good order.

    A last line that was cut off is dropped; a file without a whole line is CutOff. Anything else that is not
    a journal: GpuMatrixError.
    """
    lines = _lines(path)
    if not lines:
        raise CutOff(f"{path.name} holds no whole line")
    first = lines[0]
    if not isinstance(first, SessionLine):
        raise GpuMatrixError(f"{path}: not a journal: its first line must be a session line")
    if first.schema != SCHEMA:
        raise GpuMatrixError(f"{path}: schema {first.schema} is not known here; read it with a newer gpumatrix")
    end = next((line for line in lines if isinstance(line, EndLine)), None)
    cells = cells_of(lines, evidence=first.evidence)
    column = Column(device=first.device, evidence=first.evidence, cells=cells, facts=first.facts, source=str(path))
    return column, end is not None


def cells_of(lines: Iterable[Line], *, evidence: Evidence) -> Mapping[str, Cell]:
    """Each test's cell by the events of one session, in the order of collection."""
    collected: dict[str, str | None] = {}
    phases: dict[str, list[Phase]] = {}
    begun: dict[str, int] = {}  # the test's reports before it last started
    running: set[str] = set()
    end: EndLine | None = None
    for line in lines:
        match line:
            case CollectedLine(tests=tests):
                collected.update(tests)
            case StartLine(test=test):
                known = phases.setdefault(test, [])
                if test not in running and _call_kept_back(known[begun.get(test, 0) :]):
                    known.append(Phase(test=test, when="call", outcome=Outcome.FAILED, rerun=True))
                begun[test] = len(known)
                running.add(test)
            case PhaseLine(phase=phase):
                phases.setdefault(phase.test, []).append(phase)
                if phase.outcome is Outcome.CRASHED:  # said by the controller, for a worker that died
                    running.discard(phase.test)
            case FinishLine(test=test):
                running.discard(test)
            case EndLine():
                end = line
    cells = {
        test: _cell(test, phases.get(test), test in running, end, evidence, collected.get(test))
        for test in {**collected, **dict.fromkeys(phases)}
    }
    if end is None and cells and not any(cell.outcome in _SPEAKS_OF_AN_END for cell in cells.values()):
        # Every test had ended, and then the process died: what would have come of the session nobody knows.
        cells[SESSION] = _unknown(SESSION, "the session did not end in good order", evidence, None)
    return cells


def _cell(
    test: str,
    phases: Sequence[Phase] | None,
    running: bool,
    end: EndLine | None,
    evidence: Evidence,
    requirement: str | None,
) -> Cell:
    if running and end is not None and end.interrupted:
        return _unknown(test, f"interrupted while it ran: {end.stopped}", evidence, requirement)
    if phases is None:
        return _never_started(test, end, evidence, requirement)
    return cell_of(test, phases, evidence=evidence, requirement=requirement, finished=not running)


def _call_kept_back(attempt: Sequence[Phase]) -> bool:
    """Whether a plugin (flaky) has kept the report of the call that failed, of an attempt that another one follows.

    A test that simply runs twice has told what came of its call.
    """
    return bool(attempt) and all(phase.when != "call" and phase.outcome is Outcome.PASSED for phase in attempt)


def _lock(file: IO[bytes]) -> bool:
    """Take the file for this process; the system lets go of it however the process ends. False if another has it."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: then nothing guards the file
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _never_started(test: str, end: EndLine | None, evidence: Evidence, requirement: str | None) -> Cell:
    if end is None:
        return _unknown(test, "the journal ends before it", evidence, requirement)
    if end.stopped is None:
        return _unknown(test, "collected, but no worker reported it", evidence, requirement)
    if end.interrupted:
        return _unknown(test, f"interrupted before it ran: {end.stopped}", evidence, requirement)
    message = f"the run stopped before it: {end.stopped}"
    return Cell(test=test, outcome=Outcome.NOT_RUN, evidence=evidence, message=message, requirement=requirement)


def _unknown(test: str, message: str, evidence: Evidence, requirement: str | None) -> Cell:
    return Cell(test=test, outcome=Outcome.UNKNOWN, evidence=evidence, message=message, requirement=requirement)


def _lines(path: Path) -> list[Line]:
    raw = read_file(path).split(b"\n")
    lines: list[Line] = []
    for number, text in enumerate(raw[:-1], start=1):
        try:
            lines.append(_DECODER.decode(text))
        except msgspec.MsgspecError as error:
            raise GpuMatrixError(f"{path}:{number}: not a line of a journal: {error}") from error
    return lines  # what follows the last newline was cut off
