"""Conclusion, exit code, headline and notes: one object, so that they agree."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.verdict.headline import headline
from tests.verdict.runs import changes, plan, run, verdict

BOTH = plan("h100", "rtx3090")
GOOD = run({"h100": {"t": "passed", "u": "passed"}, "rtx3090": {"t": "passed", "u": "passed"}})


@pytest.mark.parametrize(
    ("head", "base", "exit_code", "line"),
    [
        (GOOD, GOOD, 0, "ok: 2 tests on h100, rtx3090"),
        (
            run({"h100": {"t": "failed", "u": "passed"}, "rtx3090": {"t": "passed", "u": "passed"}}),
            GOOD,
            1,
            "regression: 1 new-failure (Hopper only)",
        ),
        (
            run({"h100": {"t": "failed", "u": "failed"}, "rtx3090": {"t": "passed", "u": "failed"}}),
            GOOD,
            1,
            "regression: 2 new-failure",
        ),
        (run({"h100": {"t": "passed", "u": "passed"}}), GOOD, 3, "incomplete: rtx3090 missing"),
        (
            run({"h100": {"t": "failed", "u": "passed"}}),
            GOOD,
            1,
            "regression: 1 new-failure (at least Hopper only, nothing else runs it); rtx3090 missing",
        ),
        (
            run({"h100": {"t": "unknown", "u": "passed"}, "rtx3090": {"t": "passed", "u": "passed"}}),
            GOOD,
            3,
            "incomplete: 1 test unknown",
        ),
        (
            run({"h100": {"t": "skipped", "u": "passed"}, "rtx3090": {"t": "skipped", "u": "passed"}}),
            None,
            1,
            "regression: 1 test never run",
        ),
        (GOOD, run({"h100": {"t": "failed", "u": "passed"}}), 0, "ok: 2 tests on h100, rtx3090; 1 fixed (Hopper only)"),
        (run({}), None, 3, "incomplete: h100, rtx3090 missing; no test has a result"),
    ],
)
def test_exit_code_and_headline(head: Results, base: Results | None, exit_code: int, line: str) -> None:
    found = verdict(BOTH, head, base)
    assert (found.exit_code, headline(found)) == (exit_code, line)


def test_the_headline_upgrades_no_evidence() -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090:compiled": {"t": "compiled"}})
    found = verdict(plan("h100", "rtx3090", require={"rtx3090": "compiled"}), head)
    assert headline(found) == "ok: 1 test on h100, rtx3090 (compiled)"


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        ({"h100": {"a": "passed", "b": "not-run", "c": "skipped"}}, "2 of 3 tests on h100"),
        ({"h100": {"a": "passed"}, "cpu": {"a": "passed", "b": "passed"}}, "1 of 2 tests on h100, 2 on cpu"),
        (
            {"h100": {"a": "passed"}, "h100:compiled": {"a": "compiled", "b": "compiled"}},
            "2 tests on h100 (1 compiled)",
        ),
        (
            {"h100:emulated": {"a": "passed"}, "h100:compiled": {"b": "compiled"}, "cpu": {"c": "passed"}},
            "2 of 3 tests on h100 (1 emulated, 1 compiled), 1 on cpu",
        ),
        ({name: {"a": "passed", name: "passed"} for name in "bcdef"}, "2 of 6 tests on 5 devices"),
        (
            {name: {"a": "passed", "b": "passed", name: "passed" if name == "c" else "not-run"} for name in "cdefg"},
            "2 to 3 of 7 tests on 5 devices",
        ),
    ],
)
def test_the_headline_counts_what_has_a_result(columns: dict[str, dict[str, str]], line: str) -> None:
    config = plan("h100", require={"h100": "compiled"}, fail_on=frozenset({FailOn.REGRESSION}))
    assert headline(verdict(config, run(columns))) == f"ok: {line}"


def test_a_run_without_any_result_is_not_ok() -> None:
    found = verdict(plan(fail_on=frozenset()), run({"h100": {"t": "not-run"}}))
    assert (found.exit_code, headline(found)) == (3, "incomplete: no test has a result")


def test_many_devices_are_counted_in_the_headline() -> None:
    names = ("t4", "a100", "rtx3090", "l40s", "h100")
    found = verdict(plan(*names), run({name: {"t": "passed"} for name in names}))
    assert headline(found) == "ok: 1 test on 5 devices"


def test_unknown_can_be_made_red() -> None:
    config = plan("h100", fail_on=DEFAULT_FAIL_ON | {FailOn.UNKNOWN})
    found = verdict(config, run({"h100": {"t": "unknown"}}))
    assert (found.exit_code, headline(found)) == (1, "regression: 1 unknown (everywhere)")


def test_an_empty_fail_on_makes_nothing_red() -> None:
    head = run({"h100": {"t": "failed", "u": "skipped"}})
    assert verdict(plan("h100", "rtx3090", fail_on=frozenset()), head).exit_code == 0


@pytest.mark.parametrize(
    ("base", "note"),
    [
        (None, "no baseline: each failure counts as failing, new or not"),
        (run({}), "the baseline has no results: each failure counts as failing, new or not"),
        (run({"h100": {"t": "passed"}}), "the baseline has no native results of rtx3090"),
        (
            run({"h100": {"t": "passed"}, "rtx3090:compiled": {"t": "compiled"}}),
            "the baseline has no native results of rtx3090",
        ),
    ],
)
def test_the_missing_baseline_is_said_and_no_error(base: Results | None, note: str) -> None:
    found = verdict(BOTH, GOOD, base)
    assert found.notes == (note,)
    assert found.exit_code == 0


def test_without_a_plan_nothing_can_be_missing_and_that_is_said() -> None:
    found = verdict(plan(), run({"h100": {"t": "passed"}}))
    assert found.exit_code == 0
    assert "no gpumatrix.yml: no device is expected, so none can be missing" in found.notes


def test_a_device_is_counted_by_outcome_and_evidence() -> None:
    head = run({"h100": {"a": "passed", "b": "failed"}, "h100:compiled": {"a": "compiled", "c": "compiled"}})
    (summary,) = verdict(plan("h100"), head).devices
    counts = {e.value: {o.value: n for o, n in found.items()} for e, found in summary.counts.items()}
    assert counts == {"native": {"passed": 1, "failed": 1}, "compiled": {"compiled": 1}}


def test_red_rows_come_first_and_one_change_of_a_test_is_one_row() -> None:
    base = run({"h100": {"a": "failed", "z": "passed"}, "rtx3090": {"a": "failed", "z": "passed"}})
    head = run({"h100": {"a": "failed", "z": "failed"}, "rtx3090": {"a": "failed", "z": "failed"}})
    found = verdict(BOTH, head, base)
    assert [(r.test, r.change.value, list(r.devices)) for r in found.changes] == [
        ("z", "new-failure", ["h100", "rtx3090"]),
        ("a", "still-failing", ["h100", "rtx3090"]),
    ]


def test_a_run_against_itself_finds_nothing() -> None:
    outcomes = ["passed", "xfailed", "skipped", "skipped-requirement", "compiled", "not-run", "passed*"]
    head = run({"h100": {n: n for n in outcomes if n != "compiled"}, "rtx3090": dict.fromkeys(outcomes, "passed")})
    assert changes(verdict(BOTH, head, head)) == set()
