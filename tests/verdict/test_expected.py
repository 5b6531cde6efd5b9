"""Expected failures: met, not met, expired, and matching nothing."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.expectation import DeviceSelector, Expectation
from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.change import Change
from tests.verdict.runs import cell, changes, expectation, plan, row, run, verdict

NO_IMAGE, OOM = Category.NO_KERNEL_IMAGE, Category.DEVICE_OOM


def with_expectation(item: Expectation, fail_on: frozenset[FailOn] = DEFAULT_FAIL_ON) -> Config:
    return plan("h100", "rtx3090", expectations=(item,), fail_on=fail_on)


@pytest.mark.parametrize("before", ["passed", "failed", None])
@pytest.mark.parametrize("outcome", ["failed", "error"])
def test_a_met_one_is_expected_and_in_no_change(before: str | None, outcome: str) -> None:
    base = run({"h100": {"t": "passed"}, "rtx3090": {"t": before}}) if before else None
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": outcome}})
    found = verdict(with_expectation(expectation("t", "rtx3090")), head, base)
    assert changes(found) == set()
    assert [(r.test, r.device, r.expectation.place) for r in found.expected] == [("t", "rtx3090", "gpumatrix.yml:7")]
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("failure", "met"),
    [
        (cell("t", "failed", cause=NO_IMAGE), True),
        (cell("t", "failed", cause=OOM), False),
        (cell("t", "failed"), False),  # no cause known: not proven
        (cell("t", "crashed", cause=NO_IMAGE), False),  # a crash is not a failure that someone foresaw
        (cell("t", "timeout", cause=NO_IMAGE), False),
    ],
)
def test_one_with_a_cause_is_met_by_that_cause_alone(failure: Cell, met: bool) -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": failure}})
    found = verdict(with_expectation(expectation("t", "rtx3090", cause=NO_IMAGE)), head)
    assert bool(found.expected) is met
    assert changes(found) == (set() if met else {("t", "rtx3090", "failing")})


def test_another_cause_is_said() -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": cell("t", "failed", cause=OOM)}})
    found = verdict(with_expectation(expectation("t", "rtx3090", cause=NO_IMAGE)), head)
    note = row(found, Change.FAILING).devices["rtx3090"].note
    assert note == "gpumatrix.yml:7 expects no_kernel_image, this is device_oom"


@pytest.mark.parametrize("strict", [True, False])
def test_a_pass_is_unexpected_and_red_if_strict(strict: bool) -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})
    base = run({"h100": {"t": "passed"}, "rtx3090": {"t": "failed"}})
    found = verdict(with_expectation(expectation("t", "rtx3090", strict=strict)), head, base)
    assert changes(found) == {("t", "rtx3090", "unexpected-pass")}  # only that: not fixed as well
    assert row(found, Change.UNEXPECTED_PASS).red is strict
    assert found.exit_code == (1 if strict else 0)
    assert found.matrix.cells["t"]["rtx3090"].cell.outcome.value == "xpassed"


def test_a_pass_of_weaker_evidence_is_no_word_and_so_no_surprise() -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"o": "passed"}, "rtx3090:emulated": {"t": "passed"}})
    assert changes(verdict(with_expectation(expectation("t", "rtx3090")), head)) == set()


def test_an_expired_one_no_longer_holds_and_is_reported() -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "failed"}})
    last_day = verdict(with_expectation(expectation("t", "rtx3090", until="2027-01-15")), head)
    assert (changes(last_day), last_day.stale) == (set(), ())
    after = verdict(with_expectation(expectation("t", "rtx3090", until="2027-01-14")), head)
    assert changes(after) == {("t", "rtx3090", "failing")}
    assert [(r.expectation.place, r.reason, r.red) for r in after.stale] == [
        ("gpumatrix.yml:7", "expired after 2027-01-14", False)
    ]


@pytest.mark.parametrize("listed", [False, True])
def test_one_that_matches_no_test_is_stale_and_red_only_if_listed(listed: bool) -> None:
    fail_on = DEFAULT_FAIL_ON | ({FailOn.STALE_EXPECTATION} if listed else set())
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})
    found = verdict(with_expectation(expectation("gone*", "rtx3090"), fail_on), head)
    assert [(r.reason, r.red) for r in found.stale] == [("matches no test", listed)]
    assert found.exit_code == int(listed)


def test_one_for_no_device_of_the_matrix_is_stale() -> None:
    item = expectation("t")
    old = DeviceSelector(text="<7.0", capabilities=SpecifierSet("<7.0"))
    item = Expectation(**{name: getattr(item, name) for name in item.__slots__} | {"devices": old})
    found = verdict(with_expectation(item), run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}}))
    assert [r.reason for r in found.stale] == ["matches no device"]


def test_a_specifier_selects_by_capability_and_never_the_cpu() -> None:
    item = expectation("t")
    below_hopper = DeviceSelector(text="<9.0", capabilities=SpecifierSet("<9.0"))
    item = Expectation(**{name: getattr(item, name) for name in item.__slots__} | {"devices": below_hopper})
    head = run({device: {"t": "failed"} for device in ("h100", "rtx3090", "cpu", "l40s")})
    assert changes(verdict(with_expectation(item), head)) == {("t", "h100", "failing"), ("t", "cpu", "failing")}


def test_an_xfailed_test_is_good_with_or_without_an_expectation() -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "xfailed"}})
    found = verdict(with_expectation(expectation("t", "rtx3090")), head)
    assert (changes(found), found.expected) == (set(), ())
