"""A proposed entry takes up what it is proposed for, and hides nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import yaml

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.render.expectations import render_expectations_yaml
from pytest_gpumatrix.triage.cause import Category
from tests.verdict.runs import cell, plan, run
from tests.verdict.test_proposals import proposed, written

A, B, C = (f"a.py::t[{letter}]" for letter in "abc")
OOM = cell(C, "failed", cause=Category.DEVICE_OOM)
EACH_ALONE = [A, B]


@pytest.mark.parametrize(
    ("cells", "patterns"),
    [
        ({A: "failed", B: "failed", C: "failed"}, ["a.py::t[*]"]),
        ({A: "failed", B: "failed", C: "skipped"}, ["a.py::t[*]"]),
        ({A: "failed", B: "failed", C: "unknown"}, EACH_ALONE),  # it may pass
        ({A: "passed*", B: "passed*", C: "failed"}, [*EACH_ALONE, C]),  # "flaky" would take up a failure for good
        ({A: "failed", B: "failed", C: OOM}, [*EACH_ALONE, C]),  # an entry without a cause would take up any
        ({A: "failed", B: "failed", C: "crashed"}, ["a.py::t[*]", C]),  # a crash does not meet "fail"
    ],
)
def test_which_siblings_one_entry_takes_up(cells: Mapping[str, str | Cell], patterns: list[str]) -> None:
    assert [entry.test for entry in proposed(run({"t4": cells, "h100": {"o": "passed"}})).entries] == patterns


def test_against_a_base_an_entry_does_not_take_up_what_failed_before() -> None:
    base = run({"t4": {A: "passed", B: "passed", C: "failed"}})
    head = run({"t4": {A: "failed", B: "failed", C: "failed"}})
    assert [entry.test for entry in proposed(head, base).entries] == EACH_ALONE


def test_failures_on_more_devices_are_no_reason_against_one_entry() -> None:
    head = run({"t4": {A: "failed", B: "failed", C: "failed"}, "rtx3090": {A: "passed", B: "passed", C: "failed"}})
    assert [(entry.test, entry.devices) for entry in proposed(head).entries] == [
        ("a.py::t[*]", "t4"),
        (C, ("t4", "rtx3090")),
    ]


def test_a_specifier_does_not_reach_a_device_whose_result_is_unknown() -> None:
    head = run({"t4": {"t": "failed"}, "rtx3090": {"t": "failed"}, "l40s": {"t": "unknown"}, "h100": {"t": "passed"}})
    assert [entry.devices for entry in proposed(head).entries] == ["<8.9"]


@pytest.mark.parametrize(("evidence", "kind"), [(Evidence.EMULATED, "fail"), (Evidence.NATIVE, "flaky")])
def test_only_results_of_the_same_evidence_make_a_failure_flaky(evidence: Evidence, kind: str) -> None:
    results = (("a.xml", Outcome.FAILED), ("b.xml", Outcome.PASSED))
    both = (Contradiction(test="t", device="h100", evidence=evidence, results=results),)
    head = run({"h100": {"t": "failed"}, "h100:emulated": {"t": "failed"}}, contradictions=both)
    assert written(proposed(head)) == [("t", "h100", kind, None)]


def test_a_capability_that_passes_too_is_no_bound() -> None:
    head = run({"rtx3090": {"t": "failed"}, "h100": {"t": "failed"}, "h200": {"t": "passed"}})
    assert [entry.devices for entry in proposed(head).entries] == [("rtx3090", "h100")]


def test_a_specifier_does_not_reach_a_device_that_fails_otherwise() -> None:
    head = run({"h100": {"t": cell("t", "crashed")}, "h200": {"t": "failed"}})
    found = proposed(head, config=plan("h100"))  # h200 can be written as ==9.0 only
    assert written(found) == [("t", "h100", "crash", None)]
    assert [(item.test, item.device) for item in found.left_out] == [("t", "h200")]


def test_what_is_not_proposed_stays_in_its_comment() -> None:
    test = "a.py::t[" + "x y " * 100 + "\nexpectations: [1]\n]"
    text = render_expectations_yaml(proposed(run({"t4": {test: "unknown", "o": "passed"}})))
    assert yaml.safe_load(text) == {"expectations": []}
    assert len(text.splitlines()) == 3
