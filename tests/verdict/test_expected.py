"""Expected failures: met, not met, expired, and matching nothing."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.expectation import DeviceSelector, Expectation
from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.change import Change
from tests.verdict.runs import cell, changes, expectation, plan, row, run, verdict

BAD = ["failed", "error", "crashed", "timeout"]
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


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_that_expect_a_failure_a_strict_one_makes_a_pass_red(order: tuple[int, int]) -> None:
    items = (expectation("t", "rtx3090", strict=True), expectation("t*", "rtx3090", strict=False))
    config = plan("h100", "rtx3090", expectations=tuple(items[place] for place in order))
    assert verdict(config, run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})).exit_code == 1


def test_a_strict_pass_beside_one_that_is_not_is_red() -> None:
    found = verdict(plan("h100", "rtx3090"), run({"h100": {"t": "xpassed!"}, "rtx3090": {"t": "xpassed"}}))
    assert (row(found, Change.UNEXPECTED_PASS).red, found.exit_code) == (True, 1)


@pytest.mark.parametrize(
    ("kind", "outcome", "met"),
    [
        *(("fail", outcome, outcome in ("failed", "error")) for outcome in BAD),
        *(("crash", outcome, outcome in ("crashed", "timeout")) for outcome in BAD),
        *(("flaky", outcome, True) for outcome in BAD),
        *(("skip", outcome, True) for outcome in BAD),
    ],
)
def test_what_meets_each_kind(kind: str, outcome: str, met: bool) -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": outcome}})
    base = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})
    found = verdict(with_expectation(expectation("t", "rtx3090", expect=kind)), head, base)
    assert changes(found) == (set() if met else {("t", "rtx3090", "new-failure")})
    assert len(found.expected) == met
    assert found.exit_code == (0 if met else 1)


@pytest.mark.parametrize(
    ("kind", "outcome", "note"),
    [
        ("fail", "crashed", "gpumatrix.yml:7 expects it to fail; it crashed"),
        ("fail", "timeout", "gpumatrix.yml:7 expects it to fail; it timed out"),
        ("crash", "error", "gpumatrix.yml:7 expects it to crash; it failed"),
    ],
)
def test_another_kind_of_failure_is_said(kind: str, outcome: str, note: str) -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": outcome}})
    found = verdict(with_expectation(expectation("t", "rtx3090", expect=kind)), head)
    assert row(found, Change.FAILING).devices["rtx3090"].note == note


@pytest.mark.parametrize(("kind", "unexpected"), [("fail", True), ("crash", True), ("flaky", False), ("skip", False)])
@pytest.mark.parametrize("before", ["failed", "passed"])
def test_where_a_pass_is_a_surprise(kind: str, unexpected: bool, before: str) -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})
    base = run({"h100": {"t": "passed"}, "rtx3090": {"t": before}})
    found = verdict(with_expectation(expectation("t", "rtx3090", expect=kind)), head, base)
    assert changes(found) == ({("t", "rtx3090", "unexpected-pass")} if unexpected else set())
    assert (found.expected, found.exit_code) == ((), int(unexpected))


def test_a_flaky_test_that_passed_after_reruns_is_listed_and_no_change() -> None:
    fail_on = DEFAULT_FAIL_ON | {FailOn.FLAKY}
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed*"}})
    base = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})
    found = verdict(with_expectation(expectation("t", "rtx3090", expect="flaky"), fail_on), head, base)
    assert (changes(found), len(found.expected), found.exit_code) == (set(), 1, 0)


@pytest.mark.parametrize(("before", "change"), [("passed", "coverage-lost"), ("failed", "fixed")])
def test_a_flaky_test_that_is_marked_xfail_is_a_change(before: str, change: str) -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "xfailed*"}})
    base = run({"h100": {"t": "passed"}, "rtx3090": {"t": before}})
    found = verdict(with_expectation(expectation("t", "rtx3090", expect="flaky")), head, base)
    assert (changes(found), found.expected) == ({("t", "rtx3090", change)}, ())


def test_skip_comes_before_flaky_and_flaky_before_a_surprise() -> None:
    kinds = ("fail", "flaky", "skip")
    items = tuple(expectation("t", "rtx3090", expect=kind) for kind in kinds)
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})
    assert changes(verdict(plan("h100", "rtx3090", expectations=items[:2]), head)) == set()
    crashed = run({"h100": {"t": "passed"}, "rtx3090": {"t": "crashed"}})
    (listed,) = verdict(plan("h100", "rtx3090", expectations=items), crashed).expected
    assert listed.expectation.expect is Expect.SKIP


@pytest.mark.parametrize(
    ("require", "key", "red", "note"),
    [
        ("native", "rtx3090", True, ""),
        ("emulated", "rtx3090", True, ""),
        ("emulated", "rtx3090:emulated", False, "not red: it passed by emulated evidence, not natively"),
        ("compiled", "rtx3090:compiled", False, "not red: it passed by compiled evidence, not natively"),
    ],
)
def test_only_a_native_pass_makes_a_strict_one_red(require: str, key: str, red: bool, note: str) -> None:
    item = expectation("t", "rtx3090")
    config = plan("h100", "rtx3090", expectations=(item,), require={"rtx3090": require})
    found = verdict(config, run({"h100": {"t": "passed"}, key: {"t": "passed"}}))
    only = row(found, Change.UNEXPECTED_PASS)
    assert (only.red, only.devices["rtx3090"].note, found.exit_code) == (red, note, int(red))


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


@pytest.mark.parametrize(
    ("kind", "columns", "stale"),
    [
        ("fail", {"rtx3090": {"t": "skipped", "o": "passed"}}, True),
        ("crash", {"rtx3090": {"t": "not-run", "o": "passed"}}, True),
        ("flaky", {"rtx3090": {"o": "passed"}}, True),
        ("skip", {"rtx3090": {"t": "skipped", "o": "passed"}}, False),  # just what it asks for
        ("fail", {"rtx3090": {"t": "passed"}}, False),  # that is an unexpected pass
        ("fail", {"rtx3090": {"t": "unknown", "o": "passed"}}, False),  # it may have run
        ("fail", {}, False),  # of a missing device nobody knows
        ("fail", {"rtx3090:compiled": {"t": "compiled"}}, False),
    ],
)
def test_one_whose_tests_ran_on_none_of_its_devices_is_stale(
    kind: str, columns: dict[str, dict[str, str]], stale: bool
) -> None:
    found = verdict(
        with_expectation(expectation("t", "rtx3090", expect=kind)), run({"h100": {"t": "passed"}, **columns})
    )
    reasons = [r.reason for r in found.stale]
    assert reasons == (["matches tests, but none of them ran on rtx3090"] if stale else [])


def test_one_is_not_stale_while_any_of_its_devices_is_missing() -> None:
    item = expectation("t", "h100", "rtx3090")
    assert verdict(with_expectation(item), run({"h100": {"t": "skipped", "o": "passed"}})).stale == ()


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
