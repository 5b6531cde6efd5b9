"""What earlier runs said of one test on one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_gpumatrix.record.outcome import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class PastResult:
    """One earlier result."""

    commit: str  # full hash
    time: float  # seconds since the epoch
    outcome: Outcome
    reruns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class TrendPoint:
    """A metric's median at one commit."""

    commit: str
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CellHistory:
    """A test on a device over the commits that the store knows, oldest first."""

    results: tuple[PastResult, ...]
    failing_since: PastResult | None  # the first of the unbroken row of bad results that the newest one ends
    flakes: int  # results that passed only after reruns, and commits with both good and bad results
    trends: Mapping[str, tuple[TrendPoint, ...]] = field(default_factory=dict)  # by metric

    @property
    def flake_rate(self) -> float:
        """Flakes of all results, 0 to 1."""
        return self.flakes / len(self.results) if self.results else 0.0
