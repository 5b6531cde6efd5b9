"""What makes a run red."""

from __future__ import annotations

from enum import Enum


class FailOn(str, Enum):
    """The values of ``fail-on``: the changes of a cell that may be red, and what is not a change."""

    REGRESSION = "regression"  # new-failure, new-test-failing and failing
    NEW_FAILURE = "new-failure"
    NEW_TEST_FAILING = "new-test-failing"
    FAILING = "failing"
    STILL_FAILING = "still-failing"
    FIRST_RUN_FAILING = "first-run-failing"
    COVERAGE_LOST = "coverage-lost"
    REMOVED = "removed"
    UNEXPECTED_PASS = "unexpected-pass"  # noqa: S105 - a test passes, no password
    FLAKY = "flaky"
    METRIC = "metric"  # a metric that got worse
    NUMERIC_DRIFT = "numeric-drift"
    UNKNOWN = "unknown"
    MISSING_DEVICE = "missing-device"  # makes the verdict incomplete, not red
    NEVER_RUN = "never-run"
    STALE_EXPECTATION = "stale-expectation"


DEFAULT_FAIL_ON = frozenset({FailOn.REGRESSION, FailOn.UNEXPECTED_PASS, FailOn.MISSING_DEVICE, FailOn.NEVER_RUN})
