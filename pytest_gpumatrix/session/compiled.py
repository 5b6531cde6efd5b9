"""The compiled columns of a session: what its launches would do on the devices that are not here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_gpumatrix.portability.compiling.machine import cache_folder, processors
from pytest_gpumatrix.portability.judging.columns import compiled_columns
from pytest_gpumatrix.portability.judging.compile_launches import Compiling, budget_seconds
from pytest_gpumatrix.portability.tape.tape import Tape
from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.outcome import Outcome, Standing
from pytest_gpumatrix.session.columns import Columns
from pytest_gpumatrix.session.facts import of_another_device
from pytest_gpumatrix.session.judged_tests import Expected, JudgedTest
from pytest_gpumatrix.triage.classify import FailureText, classify


def compile_columns(
    tape: Tape,
    cells: Mapping[str, Cell],
    columns: Columns,
    tests: Mapping[str, JudgedTest],
    facts: SessionFacts,
    *,
    budget: float,
    progress: Callable[[int, int], None],
    note: Callable[[str], None],
    fallback: Path,
) -> tuple[Column, ...]:
    """A column per device of the matrix that is not here, with a cell for each of ``tests``.

    ``fallback`` is where compilations are kept, for this session, by a user without a home.
    """
    derived = compiled_columns(
        tape,
        {test: cell for test, cell in cells.items() if test in tests},
        {device.name: device.profile for device in columns.compiled},
        lambda test, device: tests[test].unmet.get(device),
        Compiling(
            jobs=processors(),
            budget_seconds=budget,
            cache_dir=cache_folder(os.environ, fallback),
            environ=os.environ,
            progress=progress,
            note=note,
        ),
    )
    profiles = {device.name: device.profile for device in columns.compiled}
    return tuple(
        replace(
            column,
            cells={
                test: explained(placed(cell, tests[test].place), tests[test].expected.get(column.device))
                for test, cell in column.cells.items()
            },
            facts=of_another_device(facts, profiles[column.device].name, profiles[column.device].capability),
        )
        for column in derived
    )


def placed(cell: Cell, definition: Place | None) -> Cell:
    """A bad cell with a place: that of the kernel that fails, else its test's."""
    return replace(cell, place=cell.place or definition) if cell.standing is Standing.BAD else cell


def explained(cell: Cell, expected: Expected | None) -> Cell:
    """A bad cell with its cause; xfailed, if a ``gpu_xfail`` mark expects just that of this device."""
    if cell.outcome is Outcome.COMPILED and expected is not None:
        return replace(cell, message=f"{cell.message}, though a failure is expected ({expected.reason})")
    if cell.standing is not Standing.BAD:
        return cell
    # "no kernel image ...; rebuilding fails too: ...": what a launch would meet comes first, and decides.
    cause = classify([FailureText(text=clause) for clause in cell.message.split("; ", 1)])
    if expected is not None and expected.cause in (None, cause.category):
        return replace(cell, outcome=Outcome.XFAILED, place=None, message=f"{expected.reason}: {cell.message}")
    if expected is not None and expected.cause is not None:
        message = f"{cell.message} (expected to fail by {expected.cause.value}, not by {cause.category.value})"
        return replace(cell, cause=cause, message=message)
    return replace(cell, cause=cause)


def budget_of(config: pytest.Config) -> float:
    """The ini option ``gpu_compile_budget``, in seconds."""
    text = str(config.getini("gpu_compile_budget"))
    try:
        return budget_seconds(text)
    except ValueError as error:
        raise pytest.UsageError(f"gpu_compile_budget must be a number of seconds, not {text!r}") from error
