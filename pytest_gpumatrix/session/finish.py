"""The end of a --gpu-matrix run: its columns, their files, and what to make of them."""

from __future__ import annotations

import contextlib
import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_gpumatrix.portability.tape.tape import Tape, write_tape
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import CPU, Column
from pytest_gpumatrix.record.junit_write import write_junit
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.record.result_files import TAPE_NAME, column_file_name
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.render.terminal import render_matrix
from pytest_gpumatrix.render.text import clean, fit
from pytest_gpumatrix.session.judged_tests import JudgedTest
from pytest_gpumatrix.session.matrix import Matrix
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.judge import judge
from pytest_gpumatrix.verdict.verdict import Conclusion, Verdict

_MOST_LINES = 15  # of one kind, in the terminal


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A finished session, with its verdict against no base."""

    verdict: Verdict
    unfit: tuple[tuple[str, Cell], ...]  # emulated and compiled cells that are bad and not expected, with their device
    bad: tuple[str, ...]  # tests that are bad where they ran
    at_fault: tuple[tuple[str, Cell], ...]  # cells that are unknown by the machine's fault, with their device
    lost: tuple[str, ...]  # tests of which nobody knows what became
    on_no_device: tuple[str, ...]  # gpu tests that no device of the matrix may run
    hints: tuple[str, ...]
    out: Path | None

    @property
    def why_red(self) -> Sequence[str]:
        """Why the run is red even where each test that ran passed."""
        reasons = []
        if self.bad:
            reasons.append(
                f"tests that did not pass, whatever pytest's own exit code: {len(self.bad):,} ({self.bad[0]})"
            )
        for evidence in (Evidence.EMULATED, Evidence.COMPILED):
            unfit = [device for device, cell in self.unfit if cell.evidence is evidence]
            if unfit:
                reasons.append(f"{evidence.value} cells that are bad: {len(unfit):,} ({', '.join(sorted(set(unfit)))})")
        if self.at_fault:
            reasons.append(f"results of which nothing is known by the machine's fault: {len(self.at_fault):,}")
        if self.lost:
            reasons.append(
                f"tests that were collected and of which no result came: {len(self.lost):,} ({self.lost[0]})"
            )
        return reasons

    def lines(self, *, width: int, colour: bool, encoding: str | None, passed: bool) -> Iterator[str]:
        """The matrix, what would fail elsewhere and why, and what else to say. ``passed``: pytest's own code was 0."""
        yield from render_matrix(self.verdict, width=width, colour=colour, encoding=encoding).splitlines()
        for device, cell in self.unfit[:_MOST_LINES]:
            yield fit(clean(f"{device}: {cell.test}"), width, keep_end=True)
            yield f"  {clean(cell.message)}"
        yield from _more(len(self.unfit) - _MOST_LINES, "cells that are bad elsewhere")
        for test in self.on_no_device[:_MOST_LINES]:
            yield fit(clean(f"warning: no device of the matrix may run {test}"), width, keep_end=True)
        yield from _more(len(self.on_no_device) - _MOST_LINES, "tests that no device may run")
        if self.at_fault:
            yield f"gpumatrix: {clean(_machine_at_fault(self.at_fault))}"
        for hint in self.hints:
            yield f"gpumatrix: {clean(hint)}"
        if self.why_red and passed:
            yield f"gpumatrix: exit code 1: {clean('; '.join(self.why_red))}"
        elif passed and self.verdict.conclusion is not Conclusion.OK:
            yield f"gpumatrix: every test that ran passed; a report would say: {clean(headline(self.verdict))}"
        if self.out is not None:
            yield f"gpumatrix: results are in {self.out}; compare them with `gpumatrix report {self.out} --base ...`"


def finish_session(
    ran: Column,
    derived: Sequence[Column],
    gpu_tests: Mapping[str, JudgedTest],
    matrix: Matrix,
    *,
    interpreting: bool,
    out: Path | None,
) -> Ended:
    """Judge the columns of a session that has ended."""
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    verdict = judge(matrix.chosen, Results(columns=(ran, *derived), broken={}), None, today=today)
    devices = {column.device for column in derived}
    running = [ran, *(column for column in derived if column.evidence is Evidence.EMULATED)]
    unfit = tuple(
        (device, change.cell)
        for row in verdict.changes
        for device, change in row.devices.items()
        if device in devices and change.cell is not None and change.cell.standing is Standing.BAD
    )
    return Ended(
        verdict=verdict,
        unfit=unfit,
        bad=tuple(test for test, cell in ran.cells.items() if cell.standing is Standing.BAD and not _infra(cell)),
        at_fault=tuple(
            (device, change.cell)
            for row in verdict.changes
            for device, change in row.devices.items()
            if change.cell is not None and change.cell.standing is Standing.UNKNOWN and _infra(change.cell)
        ),
        lost=tuple(
            test if column is ran else f"{test} on {column.device}"
            for column in running
            for test, cell in column.cells.items()
            if cell.standing is Standing.UNKNOWN
        ),
        on_no_device=tuple(_on_no_device(running, devices - {column.device for column in running}, gpu_tests)),
        hints=tuple(_hints(ran, derived, gpu_tests, interpreting, out)),
        out=out,
    )


def write_columns(columns: Iterable[Column], tape: Tape | None, out: Path) -> None:
    """Write each column's JUnit, and the tape."""
    for column in columns:
        write_junit(column, out / column_file_name(column.device, column.evidence, "xml"))
        if tape is not None:
            path = _tape_of(column.device, column.evidence, out)
            path.parent.mkdir(exist_ok=True)
            write_tape(path, tape)


def remove_stale(device: str, evidence: Evidence, emulated: Iterable[str], out: Path) -> None:
    """Remove what this run makes anew: its column, what was compiled from the tape that it replaces, and the emulated
    columns of the devices that it derives. Another machine's run may share the folder, and have emulated others.
    """
    _remove_running(device, evidence, out)
    if evidence is Evidence.NATIVE:
        for compiled in out.glob(f"*.{Evidence.COMPILED.value}.xml"):
            compiled.unlink()
        for other in emulated:
            _remove_running(other, Evidence.EMULATED, out)
            (out / column_file_name(other, Evidence.EMULATED, "jsonl")).unlink(missing_ok=True)


def _remove_running(device: str, evidence: Evidence, out: Path) -> None:
    """A running column's files but its journal, which this run may have begun by now."""
    (out / column_file_name(device, evidence, "xml")).unlink(missing_ok=True)
    tape = _tape_of(device, evidence, out)
    tape.unlink(missing_ok=True)
    if tape.parent != out:
        with contextlib.suppress(OSError):  # it is not there, or holds what we did not put there
            tape.parent.rmdir()


def _tape_of(device: str, evidence: Evidence, out: Path) -> Path:
    """An emulated column's tape is in a folder of its own: the tape of the run itself is the one beside it."""
    return out / TAPE_NAME if evidence is Evidence.NATIVE else out / f"{device}.{evidence.value}" / TAPE_NAME


def _on_no_device(running: Sequence[Column], compiled: set[str], gpu_tests: Mapping[str, JudgedTest]) -> Iterator[str]:
    for test, described in gpu_tests.items():
        cells = [column.cells[test] for column in running if test in column.cells]
        ran = any(cell.outcome is not Outcome.SKIPPED_REQUIREMENT for cell in cells)
        if not ran and (compiled or len(running) > 1) and compiled <= described.unmet.keys():
            yield test


def _hints(
    ran: Column, derived: Sequence[Column], gpu_tests: Mapping[str, JudgedTest], interpreting: bool, out: Path | None
) -> Iterator[str]:
    skipped = [cell for cell in ran.cells.values() if cell.outcome is Outcome.SKIPPED_REQUIREMENT]
    if ran.device == CPU and skipped:
        how = "mark those that Triton's interpreter can run gpu(interpret=True)"
        how += "" if interpreting else " and set gpu_interpret = true in pytest's ini file"
        how += "; CUDA C++ that cuda.core.Program compiles is judged too, in a test so marked that does not launch it"
        yield f"{len(skipped):,} of {len(gpu_tests):,} gpu tests launched nothing here, for want of a GPU: {how}"
    own = {column_file_name(column.device, column.evidence, "xml") for column in (ran, *derived)}
    others = sorted(path.name for path in out.glob("*.xml") if path.name not in own) if out is not None else []
    if others:
        yield f"{out} also holds results of another run ({', '.join(others)}): a report reads them too"


def _infra(cell: Cell) -> bool:
    return cell.cause is not None and cell.cause.infra


def _machine_at_fault(cells: Sequence[tuple[str, Cell]]) -> str:
    """One line: which causes where, and what follows from it."""
    kinds = Counter((device, cell.cause.category.value) for device, cell in cells if cell.cause is not None)
    causes = ", ".join(f"{category} on {device} ({count:,})" for (device, category), count in kinds.items())
    return (
        f"the machine is at fault, not the code: {causes}, first in {cells[0][1].test}. A report counts these results "
        "as unknown: mend the machine, and run them again"
    )


def _more(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"... and {count:,} more {what}"
