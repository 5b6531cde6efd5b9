"""The change table, row by row, through the whole judge."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.verdict.change import REGRESSIONS, Change, is_red
from tests.verdict.runs import changes, plan, run, verdict

BAD = ["failed", "error", "crashed", "timeout"]
Columns = Mapping[str, Mapping[str, str]]

# (what it shows, base, head, the change of test "t" on h100); h100 and rtx3090 require native evidence.
TABLE: list[tuple[str, Columns | None, Columns, str | None]] = [
    *((f"passed -> {bad}", {"h100": {"t": "passed"}}, {"h100": {"t": bad}}, "new-failure") for bad in BAD),
    ("xfailed -> bad", {"h100": {"t": "xfailed"}}, {"h100": {"t": "failed"}}, "new-failure"),
    ("skipped -> bad", {"h100": {"t": "skipped"}}, {"h100": {"t": "failed"}}, "new-failure"),
    ("unmet -> bad", {"h100": {"t": "skipped-requirement"}}, {"h100": {"t": "failed"}}, "new-failure"),
    ("lenient xpass -> bad", {"h100": {"t": "xpassed"}}, {"h100": {"t": "error"}}, "new-failure"),
    (
        "emulated pass -> bad: good needs no word",
        {"h100": {"o": "passed"}, "h100:emulated": {"t": "passed"}},
        {"h100": {"t": "failed"}},
        "new-failure",
    ),
    (
        "passed -> a launch that does not fit",
        {"h100": {"t": "passed"}},
        {"h100": {"o": "passed"}, "h100:compiled": {"t": "failed"}},
        "new-failure",
    ),
    *((f"{bad} -> failed", {"h100": {"t": bad}}, {"h100": {"t": "failed"}}, "still-failing") for bad in BAD),
    ("strict xpass is bad", {"h100": {"t": "xpassed!"}}, {"h100": {"t": "failed"}}, "still-failing"),
    ("bad by any evidence", {"h100:compiled": {"t": "failed"}}, {"h100": {"t": "failed"}}, "still-failing"),
    ("new test", {"h100": {"o": "passed"}}, {"h100": {"t": "failed"}}, "new-test-failing"),
    ("not run in any base column", {"h100": {"t": "not-run"}}, {"h100": {"t": "failed"}}, "new-test-failing"),
    ("no base", None, {"h100": {"t": "failed"}}, "failing"),
    ("an empty base", {}, {"h100": {"t": "failed"}}, "failing"),
    ("nothing of this device", {"rtx3090": {"t": "passed"}}, {"h100": {"t": "failed"}}, "failing"),
    (
        "only weaker evidence of this device, which said nothing bad",
        {"rtx3090": {"t": "passed"}, "h100:compiled": {"t": "compiled"}},
        {"h100": {"t": "failed"}},
        "failing",
    ),
    ("an unknown base is no baseline", {"h100": {"t": "unknown"}}, {"h100": {"t": "failed"}}, "failing"),
    (
        "absent from a device that reported",
        {"h100": {"o": "passed"}, "rtx3090": {"t": "passed"}},
        {"h100": {"t": "failed"}},
        "first-run-failing",
    ),
    (
        "not run on a device that reported",
        {"h100": {"o": "passed", "t": "not-run"}, "rtx3090": {"t": "failed"}},
        {"h100": {"t": "failed"}},
        "first-run-failing",
    ),
    (
        "compiled where native is required is no word",
        {"h100": {"o": "passed"}, "h100:compiled": {"t": "compiled"}},
        {"h100": {"t": "failed"}},
        "first-run-failing",
    ),
    ("passed -> skipped", {"h100": {"t": "passed"}}, {"h100": {"t": "skipped"}}, "coverage-lost"),
    ("passed -> unmet", {"h100": {"t": "passed"}}, {"h100": {"t": "skipped-requirement"}}, "coverage-lost"),
    ("failed -> skipped", {"h100": {"t": "failed"}}, {"h100": {"t": "skipped"}}, "coverage-lost"),
    ("passed -> not run", {"h100": {"t": "passed"}}, {"h100": {"o": "passed", "t": "not-run"}}, "coverage-lost"),
    (
        "passed -> only compiled",
        {"h100": {"t": "passed"}},
        {"h100": {"o": "passed"}, "h100:compiled": {"t": "compiled"}},
        "coverage-lost",
    ),
    (
        "absent here, in another column",
        {"h100": {"t": "passed"}},
        {"h100": {"o": "passed"}, "rtx3090": {"t": "passed"}},
        "coverage-lost",
    ),
    ("passed -> xfailed", {"h100": {"t": "passed"}}, {"h100": {"t": "xfailed"}}, "coverage-lost"),
    (
        "a base without a word has no coverage to lose",
        {"h100:emulated": {"t": "passed"}, "h100": {"o": "passed"}},
        {"h100": {"t": "skipped"}},
        None,
    ),
    ("skipped -> not run", {"h100": {"t": "skipped"}}, {"h100": {"o": "passed", "t": "not-run"}}, None),
    ("a missing device is no row per test", {"h100": {"t": "passed"}}, {"rtx3090": {"t": "passed"}}, None),
    (
        "nor is one with weaker evidence only",
        {"h100": {"t": "passed"}},
        {"rtx3090": {"t": "passed"}, "h100:compiled": {"t": "compiled"}},
        None,
    ),
    ("nor is what else it had removed", {"h100": {"t": "passed"}}, {"rtx3090": {"o": "passed"}}, None),
    ("removed", {"h100": {"t": "passed"}}, {"h100": {"o": "passed"}}, "removed"),
    ("a failing one removed", {"h100": {"t": "failed"}}, {"h100": {"o": "passed"}}, "removed"),
    ("a skipped one removed", {"h100": {"t": "skipped"}}, {"h100": {"o": "passed"}}, None),
    *((f"{bad} -> passed", {"h100": {"t": bad}}, {"h100": {"t": "passed"}}, "fixed") for bad in BAD),
    ("failed -> xfailed", {"h100": {"t": "failed"}}, {"h100": {"t": "xfailed"}}, "fixed"),
    ("passed -> xpassed", {"h100": {"t": "passed"}}, {"h100": {"t": "xpassed"}}, "unexpected-pass"),
    ("failed -> strict xpassed", {"h100": {"t": "failed"}}, {"h100": {"t": "xpassed!"}}, "unexpected-pass"),
    ("no base, xpassed", None, {"h100": {"t": "xpassed"}}, "unexpected-pass"),
    ("good after reruns", {"h100": {"t": "passed"}}, {"h100": {"t": "passed*"}}, "flaky"),
    ("flaky before too: nothing changed", {"h100": {"t": "passed*"}}, {"h100": {"t": "passed*"}}, None),
    ("fixed beats flaky", {"h100": {"t": "failed"}}, {"h100": {"t": "passed*"}}, "fixed"),
    *(
        (f"{base} -> unknown", {"h100": {"t": base}}, {"h100": {"t": "unknown"}}, "unknown")
        for base in ["passed", "failed", "skipped", "unknown"]
    ),
    ("no base, unknown", None, {"h100": {"t": "unknown"}}, "unknown"),
    ("unknown -> passed is not fixed", {"h100": {"t": "unknown"}}, {"h100": {"t": "passed"}}, None),
    ("passed -> passed", {"h100": {"t": "passed"}}, {"h100": {"t": "passed"}}, None),
    ("skipped -> passed", {"h100": {"t": "skipped"}}, {"h100": {"t": "passed"}}, None),
]


@pytest.mark.parametrize(("base", "head", "expected"), [r[1:] for r in TABLE], ids=[r[0] for r in TABLE])
def test_change_table(base: Columns | None, head: Columns, expected: str | None) -> None:
    found = verdict(plan("h100", "rtx3090"), run(head), None if base is None else run(base))
    of_h100 = {change for test, device, change in changes(found) if (test, device) == ("t", "h100")}
    assert of_h100 == ({expected} if expected else set())


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ({"h100:compiled": {"t": "compiled"}}, {"h100:compiled": {"t": "failed"}}, "new-failure"),
        ({"h100:compiled": {"t": "skipped-requirement"}}, {"h100:compiled": {"t": "failed"}}, "new-failure"),
        ({"h100": {"t": "passed"}}, {"h100:compiled": {"t": "compiled"}}, None),
        ({"h100": {"t": "passed"}}, {"h100:compiled": {"t": "skipped-requirement"}}, "coverage-lost"),
        ({"h100:compiled": {"t": "compiled"}}, {"h100:compiled": {"o": "compiled", "t": "not-run"}}, None),
    ],
)
def test_where_compiled_is_what_is_required(base: Columns, head: Columns, expected: str | None) -> None:
    found = verdict(plan("h100", require={"h100": "compiled"}), run(head), run(base))
    assert {change for test, _, change in changes(found) if test == "t"} == ({expected} if expected else set())


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_cpu_cell_follows_the_same_table(bad: str) -> None:
    head = run({"cpu": {"t": bad, "n": bad}, "h100": {"t": bad}})
    found = verdict(plan("h100"), head, run({"cpu": {"t": "passed"}, "h100": {"t": "passed"}}))
    rows = {(r.test, r.change.value, r.scope, tuple(r.devices)) for r in found.changes}
    assert rows == {
        ("t", "new-failure", "everywhere", ("h100",)),
        ("t", "new-failure", "cpu", ("cpu",)),
        ("n", "new-test-failing", "cpu", ("cpu",)),
    }
    assert found.exit_code == 1


def test_a_base_file_that_is_cut_off_is_no_baseline() -> None:
    base = run({"h100": {"o": "passed"}, "rtx3090": {"t": "passed"}}, broken={"h100": "a shard is cut off"})
    head = run({"h100": {"t": "failed", "o": "passed"}, "rtx3090": {"t": "passed"}})
    assert changes(verdict(plan("h100", "rtx3090"), head, base)) == {("t", "h100", "failing")}


def test_a_device_out_of_the_plan_is_judged_too() -> None:
    head, base = run({"h100": {"t": "passed"}, "lab": {"t": "failed"}}), run({"lab": {"t": "passed"}})
    assert changes(verdict(plan("h100"), head, base)) == {("t", "lab", "new-failure")}


def test_a_device_that_left_the_matrix_is_one_note() -> None:
    found = verdict(
        plan("h100"), run({"h100": {"t": "passed"}}), run({"h100": {"t": "passed"}, "lab": {"u": "passed"}})
    )
    assert changes(found) == set()
    assert "the baseline has results of lab; head has none" in found.notes


RED_BY_DEFAULT = {Change.NEW_FAILURE, Change.NEW_TEST_FAILING, Change.FAILING, Change.UNEXPECTED_PASS}


@pytest.mark.parametrize("change", Change)
def test_red_by_default(change: Change) -> None:
    assert is_red(change, plan().fail_on, strict=True) == (change in RED_BY_DEFAULT)


def test_a_lenient_unexpected_pass_is_never_red() -> None:
    assert not is_red(Change.UNEXPECTED_PASS, frozenset(FailOn), strict=False)


@pytest.mark.parametrize("change", [change for change in Change if change is not Change.FIXED])
def test_fail_on_moves_each_change(change: Change) -> None:
    assert is_red(change, frozenset({FailOn(change.value)}), strict=True)
    assert not is_red(change, frozenset(FailOn) - {FailOn(change.value), FailOn.REGRESSION}, strict=True)
    assert is_red(change, frozenset({FailOn.REGRESSION}), strict=True) == (change in REGRESSIONS)


def test_a_fix_is_never_red() -> None:
    assert not is_red(Change.FIXED, frozenset(FailOn), strict=True)
