"""How far a metric may move against the base, and how far it may differ between devices."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_gpumatrix.config.pattern import NamePattern, TestPattern


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerance:
    """How far a value may be from that of the reference device; exactly one of the two figures is set."""

    text: str  # as written
    relative: float | None = None  # of the reference: 0.01 is 1%
    absolute: float | None = None  # in the metric's unit

    def apart(self, value: float, reference: float) -> bool:
        """Whether a value is further away."""
        bound = self.absolute if self.absolute is not None else (self.relative or 0.0) * abs(reference)
        return exceeds(value - reference, bound)


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricRule:
    """One entry of ``metrics``. What it leaves open is as without it."""

    name: NamePattern
    test: TestPattern
    threshold: float | None  # relative: 0.1 is 10%
    absolute: float | None  # a change of no more than this does not count; in the metric's unit
    tolerance: Tolerance | None  # None: devices are not held against each other
    reference: str | None  # the device that others are held against; None: the first of the plan that has a value
    better: str | None  # "lower" or "higher", whatever the test says
    place: str  # "gpumatrix.yml:12"


def exceeds(difference: float, bound: float) -> bool:
    """Whether a difference is larger than a bound, by more than the rounding of both: 1.1 - 1.0 is not over 0.1."""
    return abs(difference) > bound and not math.isclose(abs(difference), bound, rel_tol=1e-9)
