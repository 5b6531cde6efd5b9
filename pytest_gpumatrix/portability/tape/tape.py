"""The tape: a file of JSON lines, a header first, then what each test launched."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import msgspec

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.tape.launch import Launch, Problem, digest
from pytest_gpumatrix.portability.tape.line_kinds import LineKind
from pytest_gpumatrix.record.atomic import write_atomically

SCHEMA = 4  # raised when a line's meaning changes; fields that are only added are ignored by an older reader
LONGEST_LINE = 64 << 20  # bytes: a CUDA program's source is on its line, and no larger one is met


class Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="header"):
    """The first line: what is needed to find the kernels again."""

    schema: int
    rootdir: str
    sys_path: tuple[str, ...]  # of the process that recorded
    capability: str | None = None  # of the GPU that ran, "9.0"; None for the interpreter
    versions: dict[str, str] = {}


class End(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="end"):
    """The last line: a file without it is not whole, wherever it was cut."""

    lines: int  # before this one


Line = Header | Launch | Problem | End
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Line)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tape:
    """What a run launched. ``cut_off`` says that the file was not whole."""

    header: Header
    launches: tuple[Launch, ...]
    problems: tuple[Problem, ...]
    cut_off: bool = False


class TapeWriter:
    """Appends lines, each on the disk when ``write`` returns, so that a crash loses nothing.

    The file must not be there yet: a tape is never written over. Usable from several threads.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self._lock = threading.Lock()
        self._error: OSError | None = None
        try:
            self._file = path.open("xb", buffering=0)
        except OSError as error:
            raise GpuMatrixError(f"{path}: cannot write the tape: {error.strerror or error}") from error
        self.write(header)

    def write(self, line: Line) -> None:
        """Append one line. A launch that could not be read again (a grid of -1 blocks) is written as a Problem."""
        content = memoryview(_readable(line) + b"\n")
        with self._lock:
            try:
                while content:
                    content = content[self._file.write(content) :]
            except OSError as error:
                self._error = error
                raise

    def close(self) -> None:
        """End the tape. GpuMatrixError if a line could not be written, for then the tape is not whole."""
        try:
            if self._error is None:
                self.write(End(lines=self._written()))
        except OSError as error:
            self._error = error
        self._file.close()
        if self._error is not None:
            raise GpuMatrixError(f"{self._file.name}: the tape is not whole: {self._error}") from self._error

    def _written(self) -> int:
        """As many lines as the file holds: a process that a test forked writes into it too."""
        with Path(self._file.name).open("rb") as file:
            return sum(1 for _ in file)

    def __enter__(self) -> TapeWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._file.close()  # without its end


class TapeLines(Iterator[Launch | Problem]):
    """The lines of a tape after its header, one at a time: the file is never held whole.

    ``cut_off`` is known when all have been read: whether the file's last line, which is left out if it is not whole, is
    no End, or one of a file with more or fewer lines.
    """

    def __init__(self, path: Path) -> None:
        self.cut_off = False
        self._lines = self._read(path)  # the header first
        self.header: Header = next(self._lines)

    def __next__(self) -> Launch | Problem:
        found: Launch | Problem = next(self._lines)
        return found

    def _read(self, path: Path) -> Iterator[Any]:
        try:
            with path.open("rb") as file:  # closed also when the iterator is dropped
                first = _bounded_line(path, 1, file)
                yield _read_header(path, first if first.endswith(b"\n") else b"")
                number, last = 2, None
                while (line := _bounded_line(path, number, file)).endswith(b"\n"):
                    last = _read_line(path, number, line)
                    if not isinstance(last, End):
                        yield last
                    number += 1
                self.cut_off = bool(line) or last != End(lines=number - 2)
        except OSError as error:
            raise GpuMatrixError(f"{path}: cannot read the tape: {error.strerror or error}") from error


def iter_tape(path: Path) -> tuple[Header, TapeLines]:
    """Begin to read a tape: its header, and an iterator over what follows. Unknown fields are ignored.

    GpuMatrixError, naming the file and line, for what is not a tape, another schema, a broken line, or one that is
    longer than any that is written; the iterator raises it for the lines that it comes to.
    """
    lines = TapeLines(path)
    return lines.header, lines


def read_tape(path: Path) -> Tape:
    """Read a tape at once; that it is cut off is noted. Errors as of ``iter_tape``."""
    header, lines = iter_tape(path)
    launches, problems = [], []
    for line in lines:
        if isinstance(line, Launch):
            launches.append(line)
        else:
            problems.append(line)
    return Tape(header=header, launches=tuple(launches), problems=tuple(problems), cut_off=lines.cut_off)


def merge_tapes(tapes: Sequence[Tape]) -> Tape:
    """One tape of those that the workers of one run wrote: equal lines once, the search paths joined.

    ValueError for none at all.
    """
    if not tapes:
        raise ValueError("no tape to merge")
    first = tapes[0].header
    search = tuple(dict.fromkeys(entry for tape in tapes for entry in tape.header.sys_path))
    return Tape(
        header=msgspec.structs.replace(first, sys_path=search),
        launches=tuple(_distinct(launch for tape in tapes for launch in tape.launches)),
        problems=tuple(dict.fromkeys(problem for tape in tapes for problem in tape.problems)),
        cut_off=any(tape.cut_off for tape in tapes),
    )


def write_tape(path: Path, tape: Tape) -> None:
    """Write a tape; the file appears complete or not at all. One that is cut off stays so: it has no End."""
    lines: list[Line] = [tape.header, *tape.launches, *tape.problems]
    if not tape.cut_off:
        lines.append(End(lines=len(lines)))
    write_atomically(path, b"".join(_ENCODER.encode(line) + b"\n" for line in lines))


def _distinct(launches: Iterable[Launch]) -> Iterator[Launch]:
    seen = set()
    for launch in launches:
        key = (launch.test, digest(launch.kernel), launch.alternative, launch.raised)
        if key not in seen:
            seen.add(key)
            yield launch


def _readable(line: Line) -> bytes:
    content = _ENCODER.encode(line)
    if not isinstance(line, Launch):
        return content
    try:
        _DECODER.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        return _ENCODER.encode(Problem(test=line.test, message=f"a launch of {line.kernel.name}: {error}"))
    return content


def _bounded_line(path: Path, number: int, file: BinaryIO) -> bytes:
    line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise _refusal(path, number, f"a line of more than {LONGEST_LINE >> 20} MiB, which no launch takes")
    return line


def _read_header(path: Path, line: bytes) -> Header:
    kind = LineKind.of(line)
    if kind.record != "header" or kind.schema is None:
        raise GpuMatrixError(
            f"{path}: not a tape, but {kind.name}: a tape is launches.tape.jsonl of a run with --gpu-matrix-out"
        )
    if kind.schema != SCHEMA:
        way_out = "record it again" if kind.schema < SCHEMA else "it comes from a newer one"
        raise GpuMatrixError(f"{path}: a tape of schema {kind.schema}; this gpumatrix reads schema {SCHEMA}: {way_out}")
    header = _read_line(path, 1, line)
    if not isinstance(header, Header):
        raise _refusal(path, 1, "not the header of a tape")
    return header


def _read_line(path: Path, number: int, line: bytes) -> Line:
    try:
        found = _DECODER.decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:  # the latter for what is nested too deep
        raise _refusal(path, number, _what_is_wrong(line, error)) from error
    if isinstance(found, Header) and number > 1:
        raise _refusal(path, number, "a second header: two tapes run together? Merge them instead")
    return found


def _what_is_wrong(line: bytes, error: Exception) -> str:
    not_known = LineKind.of(line).not_known
    if not_known is not None:
        return f"{not_known}, which this gpumatrix does not know: the tape may come from a newer one"
    return f"a broken line of the tape: {error}"


def _refusal(path: Path, number: int, what: str) -> GpuMatrixError:
    return GpuMatrixError(f"{path}:{number}: {what}")
