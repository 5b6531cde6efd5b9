"""Missing devices and tests that no device ran."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.record.results import Results
from tests.verdict.runs import cell, changes, plan, run, verdict

BOTH = plan("h100", "rtx3090")


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (run({"h100": {"t": "passed"}}), "no results"),
        (run({"h100": {"t": "passed"}, "rtx3090": {}}), "no results"),  # an empty results file is none
        (run({"h100": {"t": "passed"}, "rtx3090": {"t": "not-run"}}), "no results"),
        (
            run({"h100": {"t": "passed"}, "rtx3090:compiled": {"t": "compiled"}}),
            "only compiled results; native is required (`require: compiled` would take them)",
        ),
        (
            run({"h100": {"t": "passed"}, "rtx3090:emulated": {"t": "passed"}}),
            "only emulated results; native is required (`require: emulated` would take them)",
        ),
        (run({"h100": {"t": "passed"}}, broken={"rtx3090": "rtx3090.xml is cut off"}), "rtx3090.xml is cut off"),
        (
            run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}}, broken={"rtx3090": "a shard is cut off"}),
            "a shard is cut off",
        ),
    ],
)
def test_a_missing_device_makes_it_incomplete(head: Results, reason: str) -> None:
    found = verdict(BOTH, head)
    assert [(item.device, item.reason) for item in found.missing] == [("rtx3090", reason)]
    assert (found.conclusion.value, found.exit_code) == ("incomplete", 3)
    assert found.devices[1].missing == reason


@pytest.mark.parametrize(
    ("require", "columns", "met"),
    [
        ("native", ["native"], True),
        ("emulated", ["native"], True),
        ("emulated", ["emulated"], True),
        ("emulated", ["compiled"], False),
        ("compiled", ["compiled"], True),
        ("compiled", ["emulated"], True),
        ("native", ["compiled", "emulated"], False),
        ("native", ["compiled", "native"], True),
    ],
)
def test_the_required_evidence_or_better_will_do(require: str, columns: list[str], met: bool) -> None:
    head = run({f"h100:{evidence}": {"t": "passed"} for evidence in columns})
    missing = verdict(plan("h100", require={"h100": require}), head).missing
    assert (missing == ()) is met


def test_without_missing_device_in_fail_on_it_is_named_and_no_longer_incomplete() -> None:
    config = plan("h100", "rtx3090", fail_on=DEFAULT_FAIL_ON - {FailOn.MISSING_DEVICE})
    found = verdict(config, run({"h100": {"t": "passed"}}))
    assert [item.device for item in found.missing] == ["rtx3090"]
    assert found.exit_code == 0


def test_a_failure_of_weaker_evidence_counts_although_its_device_is_missing() -> None:
    found = verdict(BOTH, run({"h100": {"t": "passed"}, "rtx3090:compiled": {"t": "failed"}}))
    assert changes(found) == {("t", "rtx3090", "failing")}
    assert (found.exit_code, [item.device for item in found.missing]) == (1, ["rtx3090"])


def test_neither_the_cpu_nor_a_device_out_of_the_plan_is_missing() -> None:
    base = run({"h100": {"t": "passed"}, "cpu": {"t": "passed"}, "lab": {"t": "passed"}})
    found = verdict(plan("h100"), run({"h100": {"t": "passed"}}), base)
    assert (found.missing, found.exit_code, changes(found)) == ((), 0, set())


def test_a_results_file_of_the_cpu_that_is_cut_off_is_not_green() -> None:
    found = verdict(plan("h100"), run({"h100": {"t": "passed"}}, broken={"cpu": "cpu.xml is cut off"}))
    assert (found.broken, found.missing, found.exit_code) == ({"cpu": "cpu.xml is cut off"}, (), 3)


@pytest.mark.parametrize("fail_on", [DEFAULT_FAIL_ON, frozenset()])
def test_no_result_at_all_is_never_green(fail_on: frozenset[FailOn]) -> None:
    assert verdict(plan(fail_on=fail_on), run({})).exit_code == 3


def never_run(head: Results) -> list[str]:
    return [item.test for item in verdict(BOTH, head).never_run]


OTHER = {"o": "passed"}


@pytest.mark.parametrize("outcome", ["skipped", "skipped-requirement", "not-run"])
def test_a_test_that_no_device_runs_is_red(outcome: str) -> None:
    head = run({"h100": {"t": outcome, **OTHER}, "rtx3090": {"t": "skipped", **OTHER}})
    found = verdict(BOTH, head)
    assert [(item.test, item.red) for item in found.never_run] == [("t", True)]
    assert found.exit_code == 1
    assert " ".join(found.never_run[0].reproduce) == "pytest --gpu-matrix --gpu-devices=h100,rtx3090 t"


@pytest.mark.parametrize("outcome", ["passed", "xfailed", "failed", "error", "crashed", "timeout", "xpassed"])
def test_one_device_that_runs_it_is_enough(outcome: str) -> None:
    assert never_run(run({"h100": {"t": outcome}, "rtx3090": {"t": "skipped", **OTHER}})) == []


def test_a_compiled_test_is_not_never_run_but_never_ran_natively() -> None:
    head = run({"h100:compiled": {"t": "compiled"}, "rtx3090": {"t": "skipped", **OTHER}})
    found = verdict(plan("h100", "rtx3090", require={"h100": "compiled"}), head)
    assert (found.never_run, found.never_run_natively) == ((), 1)


def test_it_is_not_decided_while_a_device_is_missing() -> None:
    found = verdict(BOTH, run({"h100": {"t": "skipped", **OTHER}}))
    assert (found.never_run, found.never_run_decided, found.exit_code) == ((), False, 3)


def test_an_unknown_cell_may_have_run() -> None:
    found = verdict(BOTH, run({"h100": {"t": "unknown", **OTHER}, "rtx3090": {"t": "skipped", **OTHER}}))
    assert (found.never_run, found.exit_code) == ((), 3)


@pytest.mark.parametrize(("requirement", "expected"), [(None, []), ("gpu()", ["t"])])
def test_the_cpu_counts_for_an_ordinary_test_only(requirement: str | None, expected: list[str]) -> None:
    on_cpu = cell("t", "passed", requirement=requirement)
    skipped = cell("t", "skipped", requirement=requirement)
    head = run({"cpu": {"t": on_cpu}, "h100": {"t": skipped, **OTHER}, "rtx3090": OTHER})
    found = verdict(BOTH, head)
    assert [item.test for item in found.never_run] == expected
    assert found.never_run_natively == len(expected)


def test_without_never_run_in_fail_on_it_is_listed_and_not_red() -> None:
    config = plan("h100", fail_on=DEFAULT_FAIL_ON - {FailOn.NEVER_RUN})
    found = verdict(config, run({"h100": {"t": "skipped", **OTHER}}))
    assert [(item.test, item.red) for item in found.never_run] == [("t", False)]
    assert found.exit_code == 0
