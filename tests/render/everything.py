"""A verdict that has one of everything, for the tests of what is written for other programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.cell_history import CellHistory, PastResult, TrendPoint
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.triage.cause import Action, Category, Cause, Confidence
from pytest_gpumatrix.verdict.verdict import DriftRow, MetricRow, Verdict
from tests.verdict.runs import cell, expectation, plan, run, verdict

CAUSE = Cause(
    category=Category.NO_KERNEL_IMAGE,
    action=Action.ENVIRONMENT,
    advice="Build for sm_86",
    rule="no-image",
    evidence="CUDA error: no kernel image is available",
    confidence=Confidence.MEDIUM,
    reason="arch_list",
    note="the text demands 8.0, the device is 8.6",
)


def failing(test: str, file: str | None = None, line: int | None = None, **more: object) -> Cell:
    """A failure, at a place if a file is given."""
    fields: dict[str, object] = {"message": "no image", **more}
    place = None if file is None else Place(file=file, line=line)
    return dataclasses.replace(cell(test, "failed", place=place, **fields), cause=CAUSE)  # type: ignore[arg-type]


def metric_row(*, red: bool = True, worse: bool = True, test: str = "t.py::m", name: str = "loss") -> MetricRow:
    return MetricRow(
        test=test, device="h100", name=name, unit="nats", better="lower", base=2.0, head=3.0, base_repeats=3,
        head_repeats=4, threshold=0.1, noise=0.02, worse=worse, red=red, reproduce=("pytest", test),
    )  # fmt: skip


def drift_row(*, red: bool = True, test: str = "t.py::m", name: str = "loss") -> DriftRow:
    return DriftRow(
        test=test, name=name, unit="nats", values={"h100": 2.0, "rtx3090": 2.5}, reference="h100", apart=("rtx3090",),
        tolerance="1%", before=None, red=red, reproduce=("pytest", test),
    )  # fmt: skip


def history(commit: str = "c" * 40) -> CellHistory:
    first = PastResult(commit=commit, time=1_700_000_000.0, outcome=Outcome.FAILED)
    return CellHistory(
        results=(first, dataclasses.replace(first, outcome=Outcome.PASSED, reruns=1)),
        failing_since=first,
        flakes=1,
        trends={"loss": (TrendPoint(commit=commit, value=2.0), TrendPoint(commit="", value=float("nan")))},
    )


def everything() -> Verdict:
    """Red and not red, with places and without, of each kind."""
    config = plan("h100", "rtx3090", "l40s", expectations=(expectation("e", "rtx3090"), expectation("gone", "h100")))
    head: Mapping[str, Mapping[str, str | Cell]] = {
        "h100": {
            "new": failing("new", "tests/test_a.py", 12),
            "still": failing("still", "tests/test_a.py", 30),
            "e": "passed",
            "x": cell("x", "xpassed!", place=Place(file="tests/test_x.py", line=3)),
            "u": "unknown",
            "flaky": "passed*",
            "never": "skipped",
        },
        "h100:compiled": {"new": "failed"},
        "rtx3090": {"new": "passed", "e": failing("e"), "flaky": "passed", "slow": cell("slow", "passed")},
        "l40s:compiled": {"slow": cell("slow", "compiled", "compiled", slow=("scale: spills 8 B per thread",))},
    }
    base = {
        "h100": {"new": "passed", "still": "failed", "lost": "passed", "flaky": "passed"},
        "rtx3090": {"new": "passed"},
    }
    found = verdict(config, run(head), run(base))
    changes = tuple(
        dataclasses.replace(row, renamed_from="older" if row.test == "new" else None) for row in found.changes
    )
    said = Contradiction(
        test="two", device="h100", evidence=Evidence.NATIVE,
        results=(("a/h100.xml", Outcome.FAILED), ("b/h100.xml", Outcome.PASSED)),
    )  # fmt: skip
    return dataclasses.replace(
        found,
        changes=changes,
        metrics=(metric_row(), metric_row(red=False, name="time"), metric_row(red=False, worse=False, name="better")),
        drift=(drift_row(), drift_row(red=False, name="norm")),
        contradictions=(said,),
        broken={"a100": "a100.native.xml holds no test"},
        refused={"results/b200.native.xml": "it declares a DOCTYPE"},
        base_refused={"base/t4.native.xml": "it is not XML"},
        commit="a" * 40,
        base_commit="b" * 40,
        history={"new": {"h100": history()}},
    )
