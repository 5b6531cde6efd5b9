"""One test on one device over its runs -> its history. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_gpumatrix.history.observation import MetricKind
from pytest_gpumatrix.record.cell_history import CellHistory, PastResult, TrendPoint
from pytest_gpumatrix.record.outcome import Outcome

NEWEST = 50  # commits, of each device, that a rate, a row of results or a trend speaks of
DURATION = "duration"  # seconds; a trend of its own, unless a metric bears the name


class Seen(NamedTuple):
    """One native result. A tuple, for there are hundreds of thousands."""

    commit: str  # "" for a run that is of no known commit
    time: float
    outcome: Outcome
    good: bool | None  # None: it says nothing of the code
    reruns: int
    microseconds: int
    metrics: tuple[tuple[MetricKind, float], ...]


def history_of(seen: Sequence[Seen], *, older: Sequence[Seen] = ()) -> CellHistory:
    """The history of a cell: its results in order, and what came before them, for ``failing_since`` alone."""
    since = failing_since([*older, *seen])
    return CellHistory(
        results=tuple(_past(item) for item in seen),
        failing_since=_past(since) if since and since.commit else None,
        flakes=flakes(seen),
        trends=trends(seen),
    )


def failing_since(seen: Sequence[Seen]) -> Seen | None:
    """The first of the row of failures that goes on to the end. What says nothing of the code does not break it,
    but a test that is not run any more, or is skipped, does not fail.
    """
    if not seen or _is_neutral(seen[-1]):
        return None
    first = None
    for item in reversed(seen):
        if item.good:
            break
        if item.good is False:
            first = item
    return first


def is_settled(seen: Sequence[Seen]) -> bool:
    """Whether older results cannot change ``failing_since``."""
    return not seen or _is_neutral(seen[-1]) or any(item.good for item in seen)


def _is_neutral(item: Seen) -> bool:
    return item.good is None and item.outcome is not Outcome.UNKNOWN


def flakes(seen: Sequence[Seen]) -> int:
    """Passes that took reruns, and commits that have both good and bad results and no such pass."""
    rerun = [item for item in seen if item.reruns and item.good]
    failed = {item.commit for item in seen if item.good is False and item.commit}
    both = {item.commit for item in seen if item.good and item.commit in failed}
    return len(rerun) + len(both - {item.commit for item in rerun})


def trends(seen: Sequence[Seen]) -> Mapping[str, tuple[TrendPoint, ...]]:
    """Each metric by commit, the median of the commit's runs; durations of passes, in seconds.

    A metric whose unit has changed is followed from there on: values of two units are no trend.
    """
    newest = {kind.name: kind for item in seen for kind, _ in item.metrics}
    found: dict[str, dict[str, list[float]]] = {}
    for item in seen:
        for kind, value in item.metrics:
            if kind.unit == newest[kind.name].unit:
                found.setdefault(kind.name, {}).setdefault(item.commit, []).append(value)
        if item.good and DURATION not in newest:
            found.setdefault(DURATION, {}).setdefault(item.commit, []).append(item.microseconds / 1e6)
    return {
        name: tuple(
            TrendPoint(commit=commit, value=values[0] if len(values) == 1 else statistics.median(values))
            for commit, values in by_commit.items()
        )
        for name, by_commit in found.items()
    }


def _past(item: Seen) -> PastResult:
    return PastResult(commit=item.commit, time=item.time, outcome=item.outcome, reruns=item.reruns)
