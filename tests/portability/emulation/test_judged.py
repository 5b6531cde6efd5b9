from __future__ import annotations

import dataclasses

import pytest

from pytest_gpumatrix.portability.emulation.judged import held_against_the_device
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.triage.cause import Action, Category, Cause

CAUSE = Cause(category=Category.ARCH_FEATURE, evidence="e4m3", action=Action.SKIP, advice="gate it", rule="a-rule")


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


def test_a_pass_of_which_something_is_not_known_is_none() -> None:
    unknown = compiled(Outcome.NOT_RUN, "a (and 3 more)", "a\nb\nc\nd", slow=("k: spills",))
    cell = held_against_the_device(ran(Outcome.PASSED), unknown)
    assert (cell.outcome, cell.evidence, cell.standing) == (Outcome.NOT_RUN, Evidence.EMULATED, Standing.NEUTRAL)
    assert cell.message == "passed while posing; not known of the device: a; b; c; and 1 more"
    assert (cell.details, cell.slow) == ("a\nb\nc\nd", ("k: spills",))


def test_an_unexpected_one_is_none_either() -> None:
    strict = ran(Outcome.XPASSED, strict=True, message="[XPASS(strict)] e4m3 needs 8.9")
    cell = held_against_the_device(strict, compiled(Outcome.NOT_RUN, "a", "a"))
    assert (cell.outcome, cell.strict) == (Outcome.NOT_RUN, False)
    assert cell.message == (
        "passed while posing, though a failure is expected (e4m3 needs 8.9); not known of the device: a"
    )


@pytest.mark.parametrize(
    "judged",
    [
        compiled(Outcome.NOT_RUN, "1 kernel launch fits; where it ran: xpassed", slow=("k: spills",)),
        compiled(Outcome.NOT_RUN, "no kernel launch to go by"),
        compiled(Outcome.COMPILED, "2 launches fit"),
    ],
)
@pytest.mark.parametrize("message", ["[XPASS(strict)] too large there", "too large there"])
def test_a_failure_that_did_not_come_while_posing_is_no_finding(judged: Cell, message: str) -> None:
    cell = held_against_the_device(ran(Outcome.XPASSED, strict=True, message=message, details="all"), judged)
    assert (cell.outcome, cell.strict, cell.standing) == (Outcome.XPASSED, False, Standing.NEUTRAL)
    assert cell.message == (
        "passed while posing, though a failure is expected (too large there): "
        "whether the device passes as well cannot be told"
    )
    assert (cell.details, cell.slow) == ("", judged.slow)  # no place for details in JUnit


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.SKIPPED_REQUIREMENT, Outcome.CRASHED, Outcome.UNKNOWN])
def test_what_is_no_pass_stays_what_it_is(outcome: Outcome) -> None:
    assert held_against_the_device(ran(outcome), compiled(Outcome.FAILED, "no e4m3")) == ran(outcome)
