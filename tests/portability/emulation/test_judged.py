from __future__ import annotations

import dataclasses

import pytest

from pytest_gpumatrix.portability.emulation.judged import held_against_the_device
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.triage.cause import Category, Cause

CAUSE = Cause(category=Category.ARCH_FEATURE, evidence="e4m3", action="gate it", rule="a-rule")


def ran(outcome: Outcome, **given: object) -> Cell:
    return dataclasses.replace(Cell(test="t", outcome=outcome, evidence=Evidence.EMULATED, duration=2.0), **given)  # type: ignore[arg-type]


def compiled(outcome: Outcome, message: str = "", details: str = "", **given: object) -> Cell:
    cell = Cell(test="t", outcome=outcome, evidence=Evidence.COMPILED, message=message, details=details)
    return dataclasses.replace(cell, **given)  # type: ignore[arg-type]


def test_a_pass_stands_where_its_launches_fit() -> None:
    cell = held_against_the_device(
        ran(Outcome.PASSED), compiled(Outcome.COMPILED, "2 launches fit", slow=("k: spills",))
    )
    assert (cell.outcome, cell.evidence, cell.message, cell.slow) == (
        Outcome.PASSED,
        Evidence.EMULATED,
        "",
        ("k: spills",),
    )


def test_a_pass_without_launches_stands() -> None:
    assert held_against_the_device(ran(Outcome.PASSED), compiled(Outcome.NOT_RUN, "no kernel launch to go by")) == ran(
        Outcome.PASSED
    )


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.XPASSED])
def test_a_launch_that_would_fail_makes_it_fail(outcome: Outcome) -> None:
    cell = held_against_the_device(ran(outcome, strict=True), compiled(Outcome.FAILED, "no e4m3", "all", cause=CAUSE))
    assert (cell.outcome, cell.evidence, cell.strict) == (Outcome.FAILED, Evidence.EMULATED, False)
    assert (cell.message, cell.details, cell.cause, cell.duration) == ("no e4m3", "all", CAUSE, 2.0)


def test_and_meets_an_expectation_of_just_that() -> None:
    strict = ran(Outcome.XPASSED, strict=True, message="e4m3 needs 8.9")
    cell = held_against_the_device(strict, compiled(Outcome.XFAILED, "e4m3 needs 8.9: no e4m3"))
    assert (cell.outcome, cell.evidence) == (Outcome.XFAILED, Evidence.EMULATED)


def test_what_is_not_known_is_said() -> None:
    unknown = compiled(Outcome.NOT_RUN, "a (and 3 more)", "a\nb\nc\nd")
    cell = held_against_the_device(ran(Outcome.PASSED), unknown)
    assert (cell.outcome, cell.evidence) == (Outcome.PASSED, Evidence.EMULATED)
    told = "not known of the device: "
    assert cell.message == f"{told}a; {told}b; {told}c; and 1 more"


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.SKIPPED_REQUIREMENT, Outcome.CRASHED, Outcome.UNKNOWN])
def test_what_is_no_pass_stays_what_it_is(outcome: Outcome) -> None:
    assert held_against_the_device(ran(outcome), compiled(Outcome.FAILED, "no e4m3")) == ran(outcome)
