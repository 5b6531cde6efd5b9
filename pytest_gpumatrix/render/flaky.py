"""Tests that earlier runs know to be flaky, and since when the red ones fail."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from pytest_gpumatrix.record.cell_history import CellHistory
from pytest_gpumatrix.verdict.verdict import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class FlakyRow:
    """A test that is now good and now bad on one device, for the same code or after reruns."""

    test: str
    device: str
    flakes: int
    results: int

    @property
    def rate(self) -> str:
        """ "12.5% of 24 results"."""
        return f"{self.flakes / self.results:.1%} of {self.results:,} results"


def flaky_rows(verdict: Verdict) -> list[FlakyRow]:
    """The flakiest first; only tests of head's matrix."""
    found = [
        FlakyRow(test=test, device=device, flakes=history.flakes, results=len(history.results))
        for test, devices in verdict.history.items()
        if test in verdict.matrix.cells
        for device, history in devices.items()
        if history.flakes and history.results
    ]
    return sorted(found, key=lambda row: (-row.flakes / row.results, -row.flakes, row.test, row.device))


def history_words(history: CellHistory | None) -> str:
    """ "failing since 1a2b3c4d5e6f (2027-01-05), flaky in 12.5% of 24 results"; empty where nothing is known."""
    if history is None:
        return ""
    parts = []
    if since := history.failing_since:
        parts.append(f"failing since {since.commit[:12]}{_day(since.time)}")
    if history.flakes and history.results:
        parts.append(f"flaky in {history.flake_rate:.1%} of {len(history.results):,} results")
    return ", ".join(parts)


def _day(time: float) -> str:
    try:
        return f" ({datetime.datetime.fromtimestamp(time, tz=datetime.timezone.utc):%Y-%m-%d})"
    except (ValueError, OverflowError, OSError):  # a store may hold any number
        return ""
