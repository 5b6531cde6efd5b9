"""A failure that is the machine's fault says nothing of the code: unknown, not red, and never green."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.headline import headline
from tests.verdict.runs import cell, changes, expectation, plan, run, verdict

INFRA = [
    Category.TOOLCHAIN_UNKNOWN_ARCH,
    Category.DEVICE_OOM_SHARED,
    Category.HOST_MEMORY,
    Category.DRIVER_PLATFORM,
    Category.BROKEN_INSTALL,
    Category.DEVICE_STATE,
]
CONFIG = plan("h100")


def lost(outcome: str = "failed", category: Category = Category.DEVICE_STATE) -> Cell:
    return cell("t", outcome, cause=category, message="fell off the bus")


@pytest.mark.parametrize("category", Category)
@pytest.mark.parametrize("outcome", ["failed", "error", "crashed", "timeout"])
def test_it_counts_as_unknown_and_keeps_what_it_was(outcome: str, category: Category) -> None:
    found = verdict(CONFIG, run({"h100": {"t": lost(outcome, category), "o": "passed"}}))
    counted = found.matrix.cells["t"]["h100"].cell
    if category in INFRA:
        assert (counted.outcome, counted.evidence) == (Outcome.UNKNOWN, Evidence.NONE)
        assert counted.message == f"{outcome}: fell off the bus"
        assert counted.cause is not None
        assert counted.cause.category is category
        assert (found.exit_code, headline(found)) == (3, "incomplete: 1 test unknown")
    else:
        assert (counted.outcome.value, found.exit_code) == (outcome, 1)


@pytest.mark.parametrize("base", ["passed", "failed", None])
def test_it_is_neither_new_nor_still_failing_nor_fixed(base: str | None) -> None:
    found = verdict(CONFIG, run({"h100": {"t": lost()}}), run({"h100": {"t": base}}) if base else None)
    assert changes(found) == {("t", "h100", "unknown")}


def test_in_the_base_it_is_no_baseline() -> None:
    base = run({"h100": {"t": lost(), "o": "passed"}})
    assert changes(verdict(CONFIG, run({"h100": {"t": "failed"}}), base)) >= {("t", "h100", "failing")}
    assert changes(verdict(CONFIG, run({"h100": {"t": "passed", "o": "passed"}}), base)) == set()


def test_no_expectation_takes_it_up() -> None:
    config = plan("h100", expectations=(expectation("t", "h100"), expectation("t", "h100", expect="flaky")))
    found = verdict(config, run({"h100": {"t": lost(), "o": "passed"}}))
    assert (found.expected, changes(found), found.exit_code) == ((), {("t", "h100", "unknown")}, 3)


def test_a_failure_of_weaker_evidence_still_counts() -> None:
    found = verdict(CONFIG, run({"h100": {"t": lost()}, "h100:compiled": {"t": "failed"}}))
    assert changes(found) == {("t", "h100", "failing")}


def test_a_pass_of_weaker_evidence_does_not_make_it_green() -> None:
    found = verdict(CONFIG, run({"h100": {"t": lost()}, "h100:emulated": {"t": "passed"}}))
    assert (changes(found), found.exit_code) == ({("t", "h100", "unknown")}, 3)
