"""One test on one device."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing, standing
from pytest_gpumatrix.triage.cause import Cause


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A value that a test measured with ``gpu_metric``; several of one name are repeats."""

    name: str
    value: float
    unit: str
    better: str = "lower"  # or "higher"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where in the code under test something is."""

    file: str  # relative to pytest's rootdir, with slashes
    line: int | None = None  # from 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """What came of one test on one device, how it is known, and why it is bad."""

    test: str  # pytest's node id
    outcome: Outcome
    evidence: Evidence
    strict: bool = False  # of an xpassed cell: its expectation was strict
    reruns: int = 0  # attempts before the one that counts
    message: str = ""  # the reason of a skip, the failure's last line or text
    details: str = ""  # the traceback
    cause: Cause | None = None  # of a bad cell
    requirement: str | None = None  # the gpu marks as text; None for an ordinary test
    duration: float = 0.0  # seconds
    metrics: tuple[Metric, ...] = ()
    place: Place | None = None  # of a bad cell: the line of the test or of its module that failed
    slow: tuple[str, ...] = ()  # what of the launches that were compiled for the device would run there, and be slow

    @property
    def standing(self) -> Standing:
        """Good, bad, neutral or unknown."""
        return standing(self.outcome, strict=self.strict)
