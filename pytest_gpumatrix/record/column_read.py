"""The files of a column -> its cells; of many columns in two processes, where that pays."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from pytest_gpumatrix.errors import CutOff, GpuMatrixError, InfraError
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.journal import read_journal
from pytest_gpumatrix.record.junit_read import JunitFile, read_junit_file
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.result_files import ColumnFiles

Progress = Callable[[int, int], None]  # how many are read, of how many
_WORTH_A_PROCESS = 20_000_000  # bytes of files: half a second of reading


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadColumn:
    """What came of reading a column's files."""

    part: JunitFile | None = None  # None: all of them were refused, or the one that counts is cut off
    cut_off: str | None = None
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)  # file -> why


_DECODER: msgspec.msgpack.Decoder[list[ReadColumn]] = msgspec.msgpack.Decoder(list[ReadColumn])


def read_all(groups: Sequence[ColumnFiles], progress: Progress | None = None) -> Sequence[ReadColumn]:
    """Each column's files, in their order. ``progress`` is told how many of how many are read."""
    sizes = [sum(path.stat().st_size for path in group.files.values()) for group in groups]
    if len(groups) > 1 and sum(sizes) >= _WORTH_A_PROCESS and _may_fork() and _can_be_sent(groups):
        return _read_in_two(groups, sizes, progress)
    return list(_read_each(groups, len(groups), progress))


def _read_in_two(
    groups: Sequence[ColumnFiles], sizes: Sequence[int], progress: Progress | None
) -> Sequence[ReadColumn]:
    largest_first = sorted(range(len(groups)), key=lambda at: sizes[at], reverse=True)
    here, there = largest_first[::2], largest_first[1::2]
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    arguments = ([groups[at] for at in there], sender, receiver)
    process = context.Process(target=_read_there, args=arguments, daemon=True)
    process.start()
    sender.close()
    found = dict(zip(here, _read_each([groups[at] for at in here], len(groups), progress), strict=True))
    try:
        found |= zip(there, _DECODER.decode(receiver.recv_bytes()), strict=True)
    except (EOFError, OSError) as error:
        process.join()
        raise _death(process.exitcode) from error
    process.join()
    return [found[at] for at in range(len(groups))]


def _death(exit_code: int | None) -> Exception:
    """What a process that sent nothing, or not all, died of: one that ends by itself says more on standard error."""
    who = "the process that reads half of the files"
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        return InfraError(f"{who} was killed ({name}); if memory is short, report fewer files at a time")
    return RuntimeError(f"{who} ended with {exit_code}")


def _read_each(groups: Sequence[ColumnFiles], total: int, progress: Progress | None) -> Iterator[ReadColumn]:
    for number, group in enumerate(groups, start=1):
        yield _read(group)
        if progress is not None:
            progress(number, total)


def read_column(device: str, evidence: Evidence, files: Mapping[str, Path]) -> Column:
    """JUnit where the session ended in good order, else what its journal tells.

    The launches of an emulated run are judged at its end: a pass of which only the journal tells is not known yet.
    """
    return _read_part(ColumnFiles(device=device, evidence=evidence, files=files)).column


def _may_fork() -> bool:
    """A second process pays if there is a core for it; and a copy of one with threads may hang."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return cores > 1 and threading.active_count() == 1


def _can_be_sent(groups: Sequence[ColumnFiles]) -> bool:
    """Whether the paths are text: a folder's name may be any bytes, and the answers name the files."""
    try:
        for group in groups:
            for path in group.files.values():
                str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_there(groups: Sequence[ColumnFiles], sender: Connection, receiver: Connection) -> None:
    receiver.close()  # else writing would wait for ever where the process that reads was killed
    sender.send_bytes(msgspec.msgpack.encode([_read(group) for group in groups]))
    sender.close()


def _read(group: ColumnFiles) -> ReadColumn:
    """What the files of a column hold, without those that are refused."""
    files = dict(group.files)
    refused: dict[str, str] = {}
    while files:
        try:
            return ReadColumn(part=_read_part(dataclasses.replace(group, files=files)), refused=refused)
        except CutOff as reason:
            return ReadColumn(cut_off=str(reason), refused=refused)
        except _RefusedError as error:
            refused[str(error.path)] = str(error)
            files = {kind: path for kind, path in files.items() if path != error.path}
    return ReadColumn(refused=refused)


class _RefusedError(GpuMatrixError):
    """A file that is not what it should be."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path


def _read_part(group: ColumnFiles) -> JunitFile:
    device, evidence, files = group.device, group.evidence, group.files
    if journal := files.get("jsonl"):
        column, ended = _read_journal(journal, device, evidence)
        if not ended or "xml" not in files:
            if evidence is Evidence.EMULATED:
                column = _not_judged(column, ended)
            return JunitFile(column=column, repeated={})
    try:
        return read_junit_file(files["xml"], device=device, evidence=evidence)
    except GpuMatrixError as error:
        raise _RefusedError(files["xml"], str(error)) from error


def _read_journal(path: Path, device: str, evidence: Evidence) -> tuple[Column, bool]:
    try:
        column, ended = read_journal(path)
    except GpuMatrixError as error:
        raise _RefusedError(path, str(error)) from error
    if (column.device, column.evidence) != (device, evidence):
        raise _RefusedError(
            path,
            f"{path}: its name says {device} {evidence.value}, its first line "
            f"{column.device} {column.evidence.value}; give the file back the name it was written under",
        )
    return column, ended


def _not_judged(column: Column, ended: bool) -> Column:
    """An emulated column without the passes of its journal."""
    message = "its launches are judged in its JUnit file, which is missing"
    if not ended:
        message = "the run ended before its launches were judged"
    return dataclasses.replace(
        column,
        cells={
            test: dataclasses.replace(cell, outcome=Outcome.UNKNOWN, strict=False, message=message)
            if cell.outcome in (Outcome.PASSED, Outcome.XPASSED)
            else cell
            for test, cell in column.cells.items()
        },
    )
