"""The compiled columns of a run, from its tape and the cells of the column that ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_gpumatrix.gate.requirement import Otherwise, Unmet
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.compile_launches import compile_launches
from pytest_gpumatrix.portability.derive import compiled_cell
from pytest_gpumatrix.portability.judge import Judgement
from pytest_gpumatrix.portability.launch import Launch, digest
from pytest_gpumatrix.portability.tape import Tape
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Evidence


def compiled_columns(
    tape: Tape,
    ran: Mapping[str, Cell],
    profiles: Mapping[str, Profile],
    unmet: Callable[[str, str], Unmet | None],
    *,
    jobs: int,
    budget_seconds: float,
    cache_dir: Path,
    progress: Callable[[int, int], None],
    environ: Mapping[str, str],
) -> tuple[Column, ...]:
    """One column per device of ``profiles``, with a cell for each gpu test (a cell of ``ran`` with a requirement).

    ``unmet(test, device)`` is what the test's marks ask for and the device has not. Compiles in at most ``jobs``
    processes for at most ``budget_seconds``, keeps what it compiled in ``cache_dir``, and tells ``progress`` how
    many compilations of how many are done. Nothing is compiled for a test that the device's requirement skips.
    """
    gpu_tests = {test: cell for test, cell in ran.items() if cell.requirement is not None}
    launches = _by_test(tape)
    problems = defaultdict(list)
    for problem in tape.problems:
        problems[problem.test].append(problem.message)
    asked = {(test, device): unmet(test, device) for test in gpu_tests for device in profiles}
    judgements = compile_launches(
        [
            (launch, device)
            for (test, device), lacking in asked.items()
            if lacking is None or lacking.otherwise is Otherwise.XFAIL
            for launch in launches.get(test, ())
        ],
        profiles,
        tape.header,
        jobs=jobs,
        budget_seconds=budget_seconds,
        cache_dir=cache_dir,
        progress=progress,
        environ=environ,
    )

    def cell(test: str, device: str) -> Cell:
        lacking = asked[test, device]
        return compiled_cell(
            test,
            lacking.reason if lacking is not None else None,
            lacking is not None and lacking.otherwise is Otherwise.XFAIL,
            gpu_tests[test],
            _judged(launches.get(test, ()), device, judgements),
            problems.get(test, ()),
        )

    return tuple(
        Column(
            device=device,
            evidence=Evidence.COMPILED,
            cells={test: cell(test, device) for test in gpu_tests},
        )
        for device in profiles
    )


def _by_test(tape: Tape) -> dict[str, tuple[Launch, ...]]:
    found = defaultdict(list)
    for launch in tape.launches:
        found[launch.test].append(launch)
    return {test: tuple(launches) for test, launches in found.items()}


def _judged(
    launches: tuple[Launch, ...], device: str, judgements: Mapping[tuple[str, str], Judgement]
) -> list[tuple[Launch, Judgement]]:
    """The launches with their judgements; none where the device's requirement skips the test."""
    places = ((launch, (digest(launch.kernel), device)) for launch in launches)
    return [(launch, judgements[place]) for launch, place in places if place in judgements]
