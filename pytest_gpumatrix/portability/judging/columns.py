"""The compiled columns of a run, from its tape and the cells of the column that ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pytest_gpumatrix.gate.requirement import Otherwise, Unmet
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.judging.compile_launches import Compiling, compile_launches
from pytest_gpumatrix.portability.judging.derive import compiled_cell
from pytest_gpumatrix.portability.judging.judgement import Judgement
from pytest_gpumatrix.portability.judging.plan import Judged, Wanted, capability_of
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Launch, digest
from pytest_gpumatrix.portability.tape.tape import Tape
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Evidence

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Run:
    """What is known of the tests of a run."""

    cells: Mapping[str, Cell]
    launches: Mapping[str, Sequence[tuple[str, Launch]]]  # by test, each with its kernel's digest
    problems: Mapping[str, Sequence[str]]
    asked: Mapping[tuple[str, str], Unmet | None]  # by test and device
    ran_on: ComputeCapability | None

    def to_judge(self) -> Iterator[Wanted]:
        """The kernels of each test with the devices that would run it: nothing is compiled for what a mark skips."""
        devices: dict[str, list[str]] = defaultdict(list)
        for (test, device), lacking in self.asked.items():
            if lacking is None or lacking.otherwise is Otherwise.XFAIL:
                devices[test].append(device)
        for test, names in devices.items():
            for name, launch in self.launches.get(test, ()):
                yield Wanted(digest=name, kernel=launch.kernel, devices=names, ran_on=self.ran_on)

    def cell(self, test: str, device: str, judged: Mapping[tuple[str, str], Judged]) -> Cell:
        """A test's cell on a device."""
        lacking = self.asked[test, device]
        return compiled_cell(
            test,
            lacking.reason if lacking is not None else None,
            lacking is not None and lacking.otherwise is Otherwise.XFAIL,
            self.cells[test],
            _judgements(self.launches.get(test, ()), device, judged),
            self.problems.get(test, ()),
        )


def compiled_columns(
    tape: Tape,
    ran: Mapping[str, Cell],
    profiles: Mapping[str, Profile],
    unmet: Callable[[str, str], Unmet | None],
    compiling: Compiling,
) -> tuple[Column, ...]:
    """One column per device of ``profiles``, with a cell for each test of ``ran``.

    ``unmet(test, device)`` is what the test's marks ask for and the device has not.
    """
    run = _Run(
        cells=ran,
        launches=_by_test(
            (launch.test, (digest(launch.kernel), launch)) for launch in tape.launches if _stands_for_one(launch, ran)
        ),
        problems=_by_test((problem.test, problem.message) for problem in tape.problems),
        asked={(test, device): unmet(test, device) for test in ran for device in profiles},
        ran_on=capability_of(tape.header),
    )
    judged = compile_launches(run.to_judge, profiles, tape.header, compiling)
    return tuple(
        Column(
            device=device,
            evidence=Evidence.COMPILED,
            cells={test: run.cell(test, device, judged) for test in ran},
        )
        for device in profiles
    )


def _stands_for_one(launch: Launch, ran: Mapping[str, Cell]) -> bool:
    """What was only compiled stands for a launch in a gpu test; an ordinary one may compile for any card."""
    only_compiled = isinstance(launch.kernel, CudaProgram) and launch.kernel.launch is None
    cell = ran.get(launch.test)
    return not only_compiled or (cell is not None and cell.requirement is not None)


def _by_test(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    found = defaultdict(list)
    for test, value in pairs:
        found[test].append(value)
    return found


def _judgements(
    launches: Sequence[tuple[str, Launch]], device: str, judged: Mapping[tuple[str, str], Judged]
) -> list[tuple[Launch, Judgement]]:
    """The launches with their judgements; none where the device's requirement skips the test."""
    return [(launch, judged[name, device].judgement) for name, launch in launches if (name, device) in judged]
