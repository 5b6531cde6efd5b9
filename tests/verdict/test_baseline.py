"""What a reader must know of the two sides, in notes."""

from __future__ import annotations

from dataclasses import replace

from pytest_gpumatrix.record.cell import Metric
from pytest_gpumatrix.record.column import SessionFacts
from pytest_gpumatrix.record.results import Results
from tests.verdict.runs import cell, plan, run, verdict

GOOD = {"h100": {"t": "passed"}}


def of_commit(results: Results, commit: str) -> Results:
    columns = tuple(replace(column, facts=SessionFacts(commit=commit)) for column in results.columns)
    return replace(results, columns=columns)


def test_which_commits_are_compared() -> None:
    found = verdict(plan("h100"), of_commit(run(GOOD), "a" * 40), of_commit(run(GOOD), "b" * 40))
    assert (found.commit, found.base_commit) == ("a" * 40, "b" * 40)
    assert "results of commit aaaaaaaaaaaa, against bbbbbbbbbbbb" in found.notes
    assert "results of commit aaaaaaaaaaaa" in verdict(plan("h100"), of_commit(run(GOOD), "a" * 40)).notes


def test_results_of_a_device_that_is_not_planned() -> None:
    found = verdict(plan("h100"), run({**GOOD, "a6000": {"t": "passed"}, "cpu": {"t": "passed"}}))
    assert [note for note in found.notes if "no device of" in note] == [
        "there are results of a6000, which is no device of the plan"
    ]
    assert not [note for note in verdict(plan(), run(GOOD)).notes if "no device of" in note]


def test_a_base_file_that_is_cut_off() -> None:
    found = verdict(plan("h100"), run(GOOD), run(GOOD, {"rtx3090": "rtx3090.xml is cut off at line 3"}))
    assert "the baseline's results of rtx3090 do not count: rtx3090.xml is cut off at line 3" in found.notes


def test_metrics_of_the_cpu_are_not_compared_and_that_is_said() -> None:
    metric = Metric(name="loss", value=1.0, unit="nats")
    both = run({"cpu": {"t": cell("t", "passed", metrics=(metric,))}})
    said = "metrics of the cpu column are not compared: a machine without a GPU is no device"
    assert said in verdict(plan(), both, both).notes
    assert said not in verdict(plan(), run({"cpu": {"t": "passed"}}), run({"cpu": {"t": "passed"}})).notes


def test_the_way_out_where_a_test_never_runs() -> None:
    assert "expect: skip" in verdict(plan("h100"), run({"h100": {"t": "skipped", "u": "passed"}})).notes[-1]
    assert not [note for note in verdict(plan("h100"), run(GOOD)).notes if "expect: skip" in note]
