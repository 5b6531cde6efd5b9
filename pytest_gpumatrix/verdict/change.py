"""One cell against the same cell of the base: the change table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing


class Change(str, Enum):
    """What became of a cell, in the order in which a report lists them."""

    NEW_FAILURE = "new-failure"
    NEW_TEST_FAILING = "new-test-failing"
    FAILING = "failing"
    UNEXPECTED_PASS = "unexpected-pass"  # noqa: S105 - a test passes, no password
    FIRST_RUN_FAILING = "first-run-failing"
    STILL_FAILING = "still-failing"
    UNKNOWN = "unknown"
    COVERAGE_LOST = "coverage-lost"
    REMOVED = "removed"
    FLAKY = "flaky"
    FIXED = "fixed"


REGRESSIONS = frozenset({Change.NEW_FAILURE, Change.NEW_TEST_FAILING, Change.FAILING})
FAILURES = REGRESSIONS | {Change.FIRST_RUN_FAILING, Change.STILL_FAILING}
_SKIPS = (Outcome.SKIPPED, Outcome.SKIPPED_REQUIREMENT)
_QUIET = frozenset({Outcome.PASSED, Outcome.XFAILED, Outcome.COMPILED, Outcome.NOT_RUN, *_SKIPS})


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A test on one device, in head and base, and what decides beside the two cells."""

    head: Cell | None
    base: Cell | None
    require: Evidence  # of the device
    head_reported: bool  # the device has head results of the required evidence; one out of the plan, any
    base_reported: bool  # the same of the base
    in_head: bool  # some head column has the test
    in_base: bool  # some base column has it, with more to say than that it did not run
    has_base: bool  # there is a base with results


def plainly_unchanged(head: Cell | None, base: Cell | None) -> bool:
    """Whether no row of the table can hold: what nearly every cell is, told in less time than by ``change_of``."""
    if head is None:
        return base is None
    if head.outcome not in _QUIET:
        return False
    return base is None or (head.outcome is base.outcome and not head.reruns)


def change_of(pair: Comparison) -> Change | None:
    """The row of the table that holds, or None if nothing changed."""
    head, base = pair.head, pair.base
    if head is None:
        return _absent(pair)
    if head.outcome is Outcome.XPASSED:
        return Change.UNEXPECTED_PASS
    match head.standing:
        case Standing.UNKNOWN:
            return Change.UNKNOWN
        case Standing.BAD:
            return _failing(pair)
        case Standing.GOOD:
            return None if base is None else _good(head, base)
        case Standing.NEUTRAL:
            weaker = head.outcome in _SKIPS or not has_word(head, pair.require)
            return Change.COVERAGE_LOST if weaker and _lost_word(pair) else None


def has_word(cell: Cell, require: Evidence) -> bool:
    """Whether a cell is a result of the required evidence, or better."""
    return cell.evidence.strength >= max(require.strength, 1)


def is_red(change: Change, fail_on: frozenset[FailOn], *, strict: bool) -> bool:
    """Whether ``fail-on`` makes it red. An unexpected pass is red only if its expectation was strict."""
    if change is Change.FIXED or (change is Change.UNEXPECTED_PASS and not strict):
        return False
    return FailOn(change.value) in fail_on or (change in REGRESSIONS and FailOn.REGRESSION in fail_on)


def _absent(pair: Comparison) -> Change | None:
    base = pair.base
    if base is None or base.standing not in (Standing.GOOD, Standing.BAD) or not pair.head_reported:
        return None  # a device that is missing is one line, not a row per test
    if not pair.in_head:
        return Change.REMOVED
    return Change.COVERAGE_LOST if _lost_word(pair) else None


def _lost_word(pair: Comparison) -> bool:
    base = pair.base
    return (
        pair.head_reported
        and base is not None
        and base.standing in (Standing.GOOD, Standing.BAD)
        and has_word(base, pair.require)
    )


def _good(head: Cell, base: Cell) -> Change | None:
    if base.standing is Standing.BAD:
        return Change.FIXED
    if base.outcome is Outcome.PASSED and head.outcome is Outcome.XFAILED:
        return Change.COVERAGE_LOST
    # Where the base was rerun too, nothing changed.
    return Change.FLAKY if base.standing is Standing.GOOD and head.reruns and not base.reruns else None


def _failing(pair: Comparison) -> Change:
    base = pair.base
    if not pair.has_base:
        return Change.FAILING
    if base is not None:
        if base.standing is Standing.BAD:
            return Change.STILL_FAILING
        if base.standing is Standing.GOOD or _neutral_with_word(base, pair.require):
            return Change.NEW_FAILURE
    if not pair.in_base:
        return Change.NEW_TEST_FAILING
    # An unknown base cell is no baseline: whether the test failed there before is not known.
    if not pair.base_reported or (base is not None and base.standing is Standing.UNKNOWN):
        return Change.FAILING
    return Change.FIRST_RUN_FAILING


def _neutral_with_word(cell: Cell, require: Evidence) -> bool:
    return cell.standing is Standing.NEUTRAL and has_word(cell, require)
