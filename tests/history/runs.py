"""Columns and histories in few words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_gpumatrix.history.add import Added, add_run
from pytest_gpumatrix.history.read import Cells, cell_histories
from pytest_gpumatrix.history.revision import Revision
from pytest_gpumatrix.history.store import open_history
from pytest_gpumatrix.record.cell import Cell, Metric
from pytest_gpumatrix.record.column import Column
from tests.verdict.runs import cell, run

DAY = 86_400.0


def commit(number: int) -> str:
    """The hash of the commit of a day."""
    return f"{number:040x}"


def columns(cells: Mapping[str, Mapping[str, str | Cell]]) -> tuple[Column, ...]:
    return run(cells).columns


def measured(test: str, value: float, *, name: str = "loss", unit: str = "nats", duration: float = 1.0) -> Cell:
    return cell(test, "passed", metrics=(Metric(name=name, value=value, unit=unit),), duration=duration)


def add(
    path: Path,
    day: int,
    cells: Mapping[str, Mapping[str, str | Cell]],
    *,
    branch: str = "",
    time: float | None = None,
) -> Added:
    """Add a run of the commit of a day."""
    revision = Revision(commit=commit(day), time=day * DAY if time is None else time)
    with open_history(path, create=True) as store:
        return add_run(store, columns(cells), revision, branch=branch)


def add_outcomes(path: Path, outcomes: str, *, device: str = "h100", test: str = "t") -> None:
    """A run a day: p passed, f failed, r passed after reruns, s skipped, u unknown."""
    words = {"p": "passed", "f": "failed", "r": "passed*", "s": "skipped", "u": "unknown"}
    for day, letter in enumerate(outcomes, start=1):
        add(path, day, {device: {test: cell(test, words[letter], duration=day / 10)}})


def histories(path: Path, *tests: str, branch: str | None = None) -> Cells:
    with open_history(path) as store:
        return cell_histories(store, tests, branch=branch)
