"""What the page tells of a verdict, cell by cell, and what it tells without scripts."""

from __future__ import annotations

import html
from dataclasses import replace

from pytest_gpumatrix.record.cell import Place
from pytest_gpumatrix.record.cell_history import CellHistory, PastResult
from pytest_gpumatrix.record.outcome import Outcome
from pytest_gpumatrix.render.html.data import page_data
from pytest_gpumatrix.render.html.page import render_html
from pytest_gpumatrix.triage.cause import Category
from tests.render.html.sample import sample
from tests.verdict.runs import cell, plan, run, verdict


def test_without_scripts_everything_red_and_every_gap_is_told() -> None:
    found = sample()
    found = replace(
        found,
        metrics=(replace(found.metrics[0], red=True),),
        drift=(replace(found.drift[0], red=True),),
        stale=tuple(replace(row, red=True) for row in found.stale),
        base_refused={"base/t4.xml": "declares a DOCTYPE"},
    )
    plain = html.unescape(render_html(found).split("<noscript>")[1].split("</noscript>")[0])
    for line in (
        "metric throughput on h100: 588.2 -> 497.1",
        "numeric-drift final_loss: h100: 3.2791",
        "gpumatrix.yml:27: stale-expectation: matches no test",
        "missing: b200: no results",
        "refused: base/t4.xml: of the baseline: declares a DOCTYPE",
        "test_eviction_under_pressure: unknown",
    ):
        assert line in plain


def test_a_red_metric_and_a_drift_have_their_commands_in_the_panel() -> None:
    found = sample()
    found = replace(
        found,
        metrics=(replace(found.metrics[0], red=True, reproduce=("pytest", "slower")),),
        drift=(replace(found.drift[0], red=True, reproduce=("pytest", "drifts")),),
    )
    data = page_data(found, title="x")
    commands = {data["strings"][detail["command"]] for _, detail in data["details"] if "command" in detail}
    assert {"pytest slower", "pytest drifts"} <= commands
    (told,) = {data["strings"][detail["drift"]] for _, detail in data["details"] if "drift" in detail}
    assert told.startswith("final_loss: h100: 3.2791 (reference)")


def test_a_place_without_a_line_is_its_file() -> None:
    failed = {
        "a": cell("a", "failed", place=Place(file="t.py:None", line=None)),
        "b": cell("b", "failed", place=Place(file="t.py", line=3)),
    }
    data = page_data(verdict(plan("h100"), run({"h100": failed})), title="x")
    assert [data["strings"][detail["place"]] for _, detail in data["details"]] == ["t.py:None", "t.py:3"]


def test_what_passed_without_the_device_is_nowhere_painted_as_a_pass() -> None:
    head = run({"h100": {"a": "passed"}, "rtx3090:emulated": {"a": "passed"}, "l40s:compiled": {"a": "xfailed"}})
    data = page_data(verdict(plan("h100", "rtx3090", "l40s"), head), title="x")
    names = [device["name"] for device in data["devices"]]
    looks = [data["kinds"][kind]["look"] for kind in data["cells"]]
    shares = [device["counts"][0][3] for device in data["devices"]]
    assert list(zip(names, looks, shares, strict=True)) == [
        ("h100", "pass", "good"),
        ("rtx3090", "posed", "posed"),
        ("l40s", "posed", "posed"),
    ]


def test_red_of_one_scope_is_a_block_for_each_cause() -> None:
    causes = (Category.DEVICE_OOM, Category.ARCH_FEATURE, Category.ARCH_FEATURE)
    head = {f"{n}": cell(f"{n}", "failed", cause=cause) for n, cause in enumerate(causes)}
    base = dict.fromkeys(head, "passed")
    red = page_data(verdict(plan("h100"), run({"h100": head}), run({"h100": base})), title="x")["red"]
    assert [(block["cause"], block["tests"]) for block in red["rows"]] == [("device_oom", 1), ("arch_feature", 2)]


def test_a_long_history_and_a_long_command_are_cut_and_counted() -> None:
    test = "t.py::" + "x" * 10_000
    past = tuple(PastResult(commit=f"{n}", time=float(n), outcome=Outcome.PASSED) for n in range(100))
    found = verdict(plan("h100"), run({"h100": {test: "failed"}}))
    found = replace(found, history={test: {"h100": CellHistory(results=past, failing_since=None, flakes=0)}})
    data = page_data(found, title="x")
    ((_, detail),) = data["details"]
    assert data["strings"][detail["command"]] == "# too long to show: the JSON report has it"
    assert (len(detail["history"]["results"]), detail["history"]["of"]) == (60, 100)
    assert data["strings"][detail["history"]["results"][-1][0]] == "99"


def test_numbers_in_names_are_ordered_as_numbers() -> None:
    cells = dict.fromkeys(["t.py::case_10", "t.py::case_9", "t.py::case_100"], "passed")
    assert list(page_data(verdict(plan(), run({"h100": cells})), title="x")["tests"]) == [
        "case_9",
        "case_10",
        "case_100",
    ]
