"""Cells of one test on one device that several cases, or several files, tell of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Outcome, Standing


def worst(cells: Iterable[Cell]) -> Cell:
    """The cell that may not be lost; their order does not matter."""
    return max(cells, key=_rank)


def ranked(cells: Iterable[tuple[Cell, str]]) -> Sequence[tuple[Cell, str]]:
    """Cells with the file of each, the one that may not be lost first; their order does not matter."""
    return sorted(cells, key=lambda one: (_rank(one[0]), one[1]), reverse=True)


def contradict(cells: Iterable[Cell]) -> bool:
    """Whether one says good and another bad."""
    standings = {cell.standing for cell in cells}
    return Standing.GOOD in standings and Standing.BAD in standings


def attempts(one: Cell, other: Cell) -> Cell:
    """Of two cases of a test that one pytest wrote: with pytest-rerunfailures each attempt that failed is a case
    without a result, before the case that counts. A failure and an error in teardown are two cases as well.
    """
    reruns = one.reruns + other.reruns + (Outcome.PASSED in (one.outcome, other.outcome))
    return replace(worst((one, other)), reruns=reruns)


class Repeated:
    """Collects the cells of tests that are told of more than once: one for each outcome, however many there are."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[Outcome, Cell]] = {}

    def add(self, known: Cell, cell: Cell) -> None:
        """Another cell of the same test."""
        outcomes = self._cells.setdefault(cell.test, {known.outcome: known})
        same = outcomes.get(cell.outcome)
        outcomes[cell.outcome] = cell if same is None else worst((same, cell))

    def several(self) -> Mapping[str, tuple[Cell, ...]]:
        """The tests that were told of in different ways, with the cells."""
        return {test: tuple(outcomes.values()) for test, outcomes in self._cells.items() if len(outcomes) > 1}


def _rank(cell: Cell) -> tuple[object, ...]:
    said = (cell.outcome.value, cell.strict, cell.message, cell.details, cell.requirement or "")
    more = (cell.cause, cell.metrics, cell.place, cell.slow)
    return (cell.standing.weight, *said, cell.reruns, cell.duration, cell.evidence.value, repr(more))
