"""Causes, history, metrics, drift, contradictions, refused files and renamed tests: in the terminal and in Markdown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.record.cell_history import CellHistory, PastResult
from pytest_gpumatrix.record.outcome import Outcome
from pytest_gpumatrix.render.flaky import flaky_rows, history_words
from pytest_gpumatrix.render.html.data import page_data
from pytest_gpumatrix.render.markdown import render_markdown
from pytest_gpumatrix.render.moved import drift_words, metric_words
from pytest_gpumatrix.render.numbers import number, relative
from pytest_gpumatrix.render.terminal import render_matrix, render_report
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.render.html.sample import sample
from tests.verdict.runs import cell, expectation, plan, run, verdict

FULL = "tests/attention/test_flash.py::test_forward[2x1024x8x128-full]"
BACKWARD = "tests/attention/test_flash.py::test_backward[2x512x8x64]"
MUON = "tests/optim/test_muon.py::test_step_is_deterministic"
LOSS = "tests/trainer/test_command_line.py::test_the_loss_falls_on_the_default_text"
DRIFT = "h100: 3.2791 (reference), h200: 3.2793, a100: 3.3418 (apart); tolerance 1%, not so in the base"


def renamed() -> Verdict:
    """The sample with a renamed test, refused files of both sides, and a red metric and drift."""
    found = sample()
    changes = (replace(found.changes[0], renamed_from="tests/old.py::test_name"), *found.changes[1:])
    return replace(
        found,
        changes=changes,
        refused={"shard/h100.native.xml": "declares a DOCTYPE"},
        base_refused={"base/a100.native.xml": "is not XML"},
        metrics=(replace(found.metrics[0], red=True), *found.metrics[1:]),
        drift=(replace(found.drift[0], red=True, reproduce=("pytest", "--gpu-matrix", "loss")),),
    )


@pytest.mark.parametrize(
    "part",
    [
        "in the base: tests/old.py::test_name",
        "arch_feature -> skip, confidence high: The kernel uses TMA",
        "but the text demands 9.0, the device is 8.0",
        "failing since ",
        "refused: shard/h100.native.xml: declares a DOCTYPE",
        "refused of the baseline: base/a100.native.xml: is not XML",
        f"Red metrics: {FULL} metric throughput on h100: 588.2 -> 497.1 TFLOP/s, -15.5%, worse",
        f"Red numeric drift: {LOSS} numeric-drift final_loss: {DRIFT} pytest --gpu-matrix loss",
        f"Metrics: {BACKWARD} metric peak_memory on h200: 31.5 -> 24.25 GiB, -23.0%, better",
        f"Contradictory results: {MUON} a100 (native): shard-1/a100.native.xml says passed, shard-2/",
        "Flaky: ",
    ],
)  # fmt: skip
def test_the_terminal_tells(part: str) -> None:
    text = " ".join(render_report(renamed(), width=400).split())
    assert part in text


@pytest.mark.parametrize(
    "part",
    [
        "  - `tests/old.py::test_name` in the base\n",
        "    - arch_feature → skip (confidence high): `The kernel uses TMA",
        "    - but `the text demands 9.0, the device is 8.0`\n",
        "    - `failing since ",
        "- `shard/h100.native.xml` was refused: `declares a DOCTYPE`\n",
        "- `base/a100.native.xml` of the baseline was refused: `is not XML`\n",
        f"- **metric** `throughput` on `h100`: `{FULL}`: `588.2 -> 497.1 TFLOP/s, -15.5%, worse (threshold 10.0%, ",
        f"- **numeric-drift** `final_loss`: `{LOSS}`: `{DRIFT}`\n  - `pytest --gpu-matrix loss`\n",
        "### Metrics\n\n- **metric** `peak_memory` on `h200`",
        f"- `{MUON}` on `a100` (native): `shard-1/a100.native.xml` says passed, ",
        "### Flaky\n\n- `",
    ],
)  # fmt: skip
def test_the_markdown_tells(part: str) -> None:
    assert part in render_markdown(renamed())


def test_the_page_tells_in_its_tables() -> None:
    data = page_data(renamed(), title="x")
    told = {table["title"]: (table["total"], table["open"]) for table in data["tables"]}
    assert told == {
        "Metrics": (2, True),
        "Numeric drift": (1, True),
        "Flaky tests": (19, False),
        "Contradictions": (1, False),
        "Renamed tests": (1, False),
        "Stale expectations": (1, False),
        "Excused by gpumatrix.yml": (1, False),
        "Slow there": (3, False),
    }
    assert [kind for kind, *_ in data["notices"]["rows"]][:3] == ["missing", "refused", "refused"]


def test_the_line_that_decided_is_told_where_the_message_has_it_not() -> None:
    found = sample()
    assert "decided by" in render_report(found, width=400)
    assert "decided by: RuntimeError: Failed to initialize" not in render_report(found, width=400)


@pytest.mark.parametrize(
    ("evidence", "outcome", "mark"),
    [("emulated", "passed", "≈↓"), ("compiled", "compiled", "⚙↓"), ("emulated", "failed", "✗≈")],
)
def test_a_slow_pass_has_its_mark_whatever_it_is_known_by(evidence: str, outcome: str, mark: str) -> None:
    slow = cell("a", outcome, evidence, slow=("scale: spills 8 B",))
    head = run({"h100": {"a": "passed"}, f"rtx3090:{evidence}": {"a": slow}})
    found = verdict(plan("h100", "rtx3090"), head)
    assert f"✓    {mark}" in render_matrix(found)
    assert f"| `a` | ✓ | {mark} |" in render_markdown(found)
    assert ("↓ slow there" in render_matrix(found)) == mark.endswith("↓")


def past(*outcomes: Outcome) -> CellHistory:
    results = tuple(
        PastResult(commit=f"{n:040}", time=86_400.0 * n, outcome=outcome) for n, outcome in enumerate(outcomes)
    )
    return CellHistory(results=results, failing_since=results[-1], flakes=1)


def test_history_in_words() -> None:
    words = history_words(past(Outcome.PASSED, Outcome.FAILED))
    assert words == "failing since 000000000000 (1970-01-02), flaky in 50.0% of 2 results"
    assert history_words(None) == ""
    assert history_words(CellHistory(results=(), failing_since=None, flakes=0)) == ""
    odd = replace(past(Outcome.FAILED), failing_since=PastResult(commit="c", time=float("inf"), outcome=Outcome.FAILED))
    assert history_words(odd).startswith("failing since c, ")


def test_the_flakiest_come_first() -> None:
    found = verdict(plan("h100"), run({"h100": {"a": "passed", "b": "passed"}}))
    history = {name: {"h100": past(*[Outcome.PASSED] * n)} for name, n in (("a", 9), ("b", 2), ("gone", 1))}
    assert [row.test for row in flaky_rows(replace(found, history=history))] == ["b", "a"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (3.14159, "3.142"),
        (0.00001, "1.000e-05"),
        (12345.6, "12,346"),
        (2e12, "2.000e+12"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_numbers(value: float, shown: str) -> None:
    assert number(value) == shown


def test_relative_numbers() -> None:
    assert (relative(2, 3), relative(-2, -3), relative(0, 1), relative(1, float("nan"))) == (
        "+50.0%",
        "-50.0%",
        "from 0",
        "from 1",
    )


def test_many_devices_of_a_drift_are_counted() -> None:
    row = replace(sample().drift[0], values={f"d{n}": n for n in range(20)}, before=None)
    assert ", and 8 more; tolerance 1%" in drift_words(row)
    assert "better" in metric_words(sample().metrics[1])


def test_what_an_expectation_excuses_is_told_by_what_came_of_it() -> None:
    config = plan(
        "h100",
        expectations=(expectation("flaky", "h100", expect=Expect.FLAKY), expectation("s*", "h100", expect=Expect.SKIP)),
    )
    head = run({"h100": {"flaky": "passed*", "s1": "unknown", "s2": "failed", "s3": "timeout", "other": "passed"}})
    found = verdict(config, head)
    said = "excused by gpumatrix.yml: 4 cells (2 failed, 1 passed only when rerun, 1 not known)"
    assert said in render_report(found, width=200)
    assert f"- {said}\n" in render_markdown(found)


def test_a_renamed_test_that_is_fixed_has_both_names() -> None:
    found = verdict(plan("h100"), run({"h100": {"a": "passed"}}), run({"h100": {"a": "failed"}}))
    text = render_report(replace(found, changes=(replace(found.changes[0], renamed_from="older"),)))
    assert "fixed (everywhere) a\n  in the base: older\n" in text


def test_a_red_line_without_a_command_has_no_blank_line() -> None:
    found = replace(sample(), drift=(replace(sample().drift[0], red=True, reproduce=()),))
    assert "\n  \n" not in render_report(found)


def test_many_refused_files_are_counted() -> None:
    refused = {f"{n}.xml": "declares a DOCTYPE" for n in range(40)}
    text = render_report(replace(sample(), refused=refused, base_refused={"base.xml": "x"}))
    assert text.count("refused: ") == 15
    assert "... and 26 more refused files" in text
