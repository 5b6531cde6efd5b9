"""What the history keeps of a cell."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import NamedTuple

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Outcome, Standing

_SAYS = {Standing.GOOD: True, Standing.BAD: False}
_LARGEST = 2**31 - 1  # of what is counted; a results file may claim anything


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricKind:
    """What a metric's value is of."""

    name: str
    unit: str
    better: str


class Observation(NamedTuple):
    """One result of one test. A tuple, for a run has a hundred thousand."""

    outcome: Outcome
    good: bool | None  # None: it says nothing of the code
    reruns: int
    cause: str | None
    microseconds: int
    metrics: tuple[tuple[MetricKind, float], ...]  # the median of its repeats; none twice


def observed(cell: Cell, column: Column) -> Observation | None:
    """What to keep of a cell; None for a test that did not run.

    A failure that is the machine's, and a result that is known less well than its column, say nothing of the code.
    """
    if cell.outcome is Outcome.NOT_RUN:
        return None
    says = _SAYS.get(cell.standing)
    infra = says is False and cell.cause is not None and cell.cause.infra
    weaker = cell.evidence is not column.evidence and cell.evidence.strength < column.evidence.strength
    return Observation(
        outcome=Outcome.UNKNOWN if infra else cell.outcome,
        good=None if infra or weaker else says,
        reruns=min(max(cell.reruns, 0), _LARGEST),
        cause=cell.cause.category.value if cell.cause else None,
        microseconds=round(min(max(cell.duration, 0.0) * 1e6, _LARGEST)),
        metrics=_medians(cell) if cell.metrics else (),
    )


def _medians(cell: Cell) -> tuple[tuple[MetricKind, float], ...]:
    found: dict[MetricKind, list[float]] = {}
    for metric in cell.metrics:
        if math.isfinite(metric.value):
            kind = MetricKind(name=metric.name, unit=metric.unit, better=metric.better)
            found.setdefault(kind, []).append(metric.value)
    return tuple((kind, statistics.median(values)) for kind, values in found.items())
