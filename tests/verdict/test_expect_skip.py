"""``expect: skip``: nothing is asked of a test there."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.expectation import Expectation
from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from tests.verdict.runs import cell, changes, expectation, measured, metric_rule, plan, run, verdict


def with_expectation(item: Expectation, fail_on: frozenset[FailOn] = DEFAULT_FAIL_ON) -> Config:
    return plan("h100", "rtx3090", expectations=(item,), fail_on=fail_on)


@pytest.mark.parametrize(("kind", "exit_code"), [("flaky", 3), ("fail", 3), ("crash", 3), ("skip", 0)])
def test_only_a_skip_covers_what_is_unknown(kind: str, exit_code: int) -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": "unknown", "o": "passed"}})
    found = verdict(with_expectation(expectation("t", "rtx3090", expect=kind)), head)
    assert (found.exit_code, len(found.expected)) == (exit_code, int(kind == "skip"))


@pytest.mark.parametrize("outcome", ["skipped", "not-run", "xfailed", "xpassed!", "passed*"])
def test_nothing_is_held_against_a_skipped_one(outcome: str) -> None:
    head = run({"h100": {"t": "passed"}, "rtx3090": {"t": outcome, "o": "passed"}})
    base = run({"h100": {"t": "passed"}, "rtx3090": {"t": "passed"}})
    found = verdict(with_expectation(expectation("t", "rtx3090", expect="skip"), frozenset(FailOn)), head, base)
    assert changes(found) == set()


@pytest.mark.parametrize(("devices", "red"), [(("h100", "rtx3090"), False), (("rtx3090",), True)])
def test_a_test_that_may_be_skipped_everywhere_need_not_run(devices: tuple[str, ...], red: bool) -> None:
    head = run({"h100": {"t": "skipped", "o": "passed"}, "rtx3090": {"t": "skipped", "o": "passed"}})
    found = verdict(with_expectation(expectation("t", *devices, expect="skip")), head)
    assert (len(found.never_run), found.exit_code) == (int(red), int(red))


@pytest.mark.parametrize(("kind", "red"), [("skip", 0), ("flaky", 1)])
def test_the_metrics_of_a_skipped_one_do_not_count(kind: str, red: int) -> None:
    config = plan(
        "h100",
        "rtx3090",
        expectations=(expectation("t", "rtx3090", expect=kind),),
        fail_on=DEFAULT_FAIL_ON | {FailOn.METRIC, FailOn.NUMERIC_DRIFT},
        metrics=(metric_rule("m", "1%"),),
    )
    base = run({"h100": {"t": measured("t", m=1)}, "rtx3090": {"t": measured("t", m=1)}})
    head = run({"h100": {"t": measured("t", m=1)}, "rtx3090": {"t": measured("t", m=9)}})
    found = verdict(config, head, base)
    assert (len(found.metrics), len(found.drift), found.exit_code) == (red, red, red)


@pytest.mark.parametrize(
    ("requirement", "cpu", "red"),
    [
        ("gpu()", "skipped-requirement", False),  # the CPU is no device of a gpu test
        ("gpu()", None, False),
        (None, "skipped", True),  # of an ordinary one it is
    ],
)
def test_the_cpu_need_not_be_in_the_entry_of_a_gpu_test(requirement: str | None, cpu: str | None, red: bool) -> None:
    config = plan("h100", expectations=(expectation("t", "h100", expect="skip"),))
    columns = {"h100": {"t": cell("t", "skipped", requirement=requirement), "o": cell("o", "passed")}}
    if cpu:
        columns["cpu"] = {"t": cell("t", cpu, requirement=requirement)}
    found = verdict(config, run(columns))
    assert [row.test for row in found.never_run] == (["t"] if red else [])


def test_a_gpu_test_that_only_the_cpu_met_is_never_run() -> None:
    head = run({"h100": {"o": "passed"}, "cpu": {"t": "skipped-requirement"}})
    assert [row.test for row in verdict(plan("h100"), head).never_run] == ["t"]


def test_a_skipped_failure_says_nothing_of_the_scope() -> None:
    config = plan("h100", "rtx3090", "l40s", expectations=(expectation("t", "rtx3090", expect="skip"),))
    head = run({"h100": {"t": "failed"}, "rtx3090": {"t": "failed"}, "l40s": {"t": "skipped"}})
    (only,) = verdict(config, head).changes
    assert (only.scope, list(only.devices)) == ("Hopper only, nothing else runs it", ["h100"])
