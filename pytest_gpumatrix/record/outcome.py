"""What came of a test, and how we know."""

from __future__ import annotations

from enum import Enum


class Outcome(str, Enum):
    """What came of one test on one device. The values are the spelling in JSON and JUnit."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    SKIPPED_REQUIREMENT = "skipped-requirement"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    COMPILED = "compiled"
    NOT_RUN = "not-run"
    UNKNOWN = "unknown"

    # Enum's own is a Python function, and a report looks up outcomes by the hundred thousand.
    __hash__ = str.__hash__


class Evidence(str, Enum):
    """How a result is known, strongest first."""

    NATIVE = "native"
    EMULATED = "emulated"
    COMPILED = "compiled"
    NONE = "none"

    __hash__ = str.__hash__  # as for Outcome

    @property
    def strength(self) -> int:
        """3 for native down to 0 for none, so that evidence can be compared."""
        return _STRENGTH[self]


_STRENGTH = {evidence: 3 - place for place, evidence in enumerate(Evidence)}


class Standing(str, Enum):
    """The class of a cell: what it says about the code."""

    GOOD = "good"
    BAD = "bad"
    NEUTRAL = "neutral"
    UNKNOWN = "unknown"

    __hash__ = str.__hash__  # as for Outcome

    @property
    def weight(self) -> int:
        """Of two results of one test the heavier may not be lost: bad, then unknown, good, neutral."""
        return _WEIGHT[self]


_WEIGHT = {Standing.NEUTRAL: 0, Standing.GOOD: 1, Standing.UNKNOWN: 2, Standing.BAD: 3}

_STANDING = {
    Outcome.PASSED: Standing.GOOD,
    Outcome.XFAILED: Standing.GOOD,
    Outcome.FAILED: Standing.BAD,
    Outcome.ERROR: Standing.BAD,
    Outcome.CRASHED: Standing.BAD,
    Outcome.TIMEOUT: Standing.BAD,
    Outcome.SKIPPED: Standing.NEUTRAL,
    Outcome.SKIPPED_REQUIREMENT: Standing.NEUTRAL,
    Outcome.COMPILED: Standing.NEUTRAL,
    Outcome.NOT_RUN: Standing.NEUTRAL,
    Outcome.UNKNOWN: Standing.UNKNOWN,
}


def standing(outcome: Outcome, *, strict: bool = False) -> Standing:
    """The class of an outcome. An unexpected pass is bad only if its expectation was strict."""
    if outcome is Outcome.XPASSED:
        return Standing.BAD if strict else Standing.NEUTRAL
    return _STANDING[outcome]
