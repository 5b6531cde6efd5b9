"""What earlier runs said, as JSON: a part of the report, and ``gpumatrix history show --format json``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import msgspec

from pytest_gpumatrix.record.cell_history import CellHistory, PastResult
from pytest_gpumatrix.render.report_schema import HistoryEntry, PastEntry, PointEntry


def render_history_json(cells: Mapping[str, Mapping[str, CellHistory]], *, metric: str | None = None) -> str:
    """By test and device: the entry of the report, and each result in order. ``metric``: of the trends, this alone."""
    tests = {
        test: {
            device: {
                **msgspec.to_builtins(history_entry(history, metric=metric)),
                "results": [msgspec.to_builtins(_past(item)) for item in history.results],
            }
            for device, history in devices.items()
        }
        for test, devices in cells.items()
    }
    return json.dumps({"schema": 1, "tests": tests}, indent=2, allow_nan=False) + "\n"


def history_entry(history: CellHistory, *, metric: str | None = None) -> HistoryEntry:
    """One cell's history as the report has it."""
    return HistoryEntry(
        failing_since=_past(history.failing_since) if history.failing_since else None,
        results=len(history.results),
        flakes=history.flakes,
        flake_rate=history.flake_rate,
        trends={
            name: [PointEntry(commit=point.commit, value=json_number(point.value)) for point in points]
            for name, points in history.trends.items()
            if metric in (None, name)
        },
    )


def _past(item: PastResult) -> PastEntry:
    return PastEntry(commit=item.commit, time=json_number(item.time), outcome=item.outcome, reruns=item.reruns)


def json_number(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else None
