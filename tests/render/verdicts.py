"""Random verdicts with every part that a report may have, their texts hostile."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import strategies as st

from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.cell_history import CellHistory, PastResult, TrendPoint
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction, Results
from pytest_gpumatrix.triage.cause import Action, Category, Cause, Confidence
from pytest_gpumatrix.verdict.verdict import DriftRow, MetricRow, Verdict
from tests.render.hostile import TEXTS
from tests.verdict.runs import expectation, plan, verdict

DEVICES = ("h100", "h200", "rtx3090", "l40s", "cpu", "lab")
SHORT = tuple(text for text in TEXTS if len(text) < 1_000)
texts = st.sampled_from(SHORT) | st.text(max_size=30)
numbers = st.floats(allow_nan=True, allow_infinity=True)
tests = st.sampled_from(["t.py::a", "t.py::b[x-1]", "u/v.py::C::d", "plain"]) | texts


@st.composite
def causes(draw: st.DrawFn) -> Cause:
    return Cause(
        category=draw(st.sampled_from(Category)),
        action=draw(st.sampled_from(Action)),
        advice=draw(texts),
        rule=draw(texts),
        evidence=draw(texts),
        confidence=draw(st.sampled_from(Confidence)),
        reason=draw(texts),
        note=draw(texts),
    )


@st.composite
def cells(draw: st.DrawFn, test: str, evidence: Evidence) -> Cell:
    return Cell(
        test=test,
        outcome=draw(st.sampled_from(Outcome)),
        evidence=evidence,
        strict=draw(st.booleans()),
        reruns=draw(st.integers(0, 1)),
        message=draw(texts),
        details=draw(texts),
        cause=draw(st.none() | causes()),
        requirement=draw(st.none() | texts),
        duration=draw(numbers),
        metrics=tuple(draw(st.lists(st.builds(Metric, name=texts, value=numbers, unit=texts), max_size=2))),
        place=draw(st.none() | st.builds(Place, file=texts, line=st.none() | st.integers(1, 9))),
        slow=tuple(draw(st.lists(texts, max_size=2))),
    )


@st.composite
def runs(draw: st.DrawFn, names: list[str]) -> Results:
    columns = []
    for device in draw(st.lists(st.sampled_from(DEVICES), unique=True, max_size=4)):
        evidence = draw(st.sampled_from([Evidence.NATIVE, Evidence.EMULATED, Evidence.COMPILED]))
        own = {test: draw(cells(test, evidence)) for test in names if draw(st.booleans())}
        columns.append(Column(device=device, evidence=evidence, cells=own))
    broken = draw(st.dictionaries(st.sampled_from(DEVICES), texts, max_size=1))
    refused = draw(st.dictionaries(texts, texts, max_size=1))
    return Results(columns=tuple(columns), broken=broken, refused=refused)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    names = draw(st.lists(tests, unique=True, min_size=1, max_size=4))
    head = draw(runs(names))
    base = draw(st.none() | runs(names))
    config = plan(
        *draw(st.sampled_from([(), ("h100",), ("h100", "rtx3090", "l40s")])),
        expectations=(expectation(draw(texts) or "x", "h100"),),
        fail_on=draw(st.sampled_from([DEFAULT_FAIL_ON, frozenset(FailOn), frozenset()])),
    )
    found = verdict(config, head, base)
    return replace(
        found,
        metrics=tuple(draw(st.lists(metric_rows(names), max_size=2))),
        drift=tuple(draw(st.lists(drift_rows(names), max_size=2))),
        contradictions=tuple(draw(st.lists(contradictions(names), max_size=2))),
        history=draw(st.dictionaries(st.sampled_from(names), st.dictionaries(devices, histories(), max_size=2))),
    )


devices = st.sampled_from(DEVICES)


@st.composite
def metric_rows(draw: st.DrawFn, names: list[str]) -> MetricRow:
    return MetricRow(
        test=draw(st.sampled_from(names)),
        device=draw(devices),
        name=draw(texts),
        unit=draw(texts),
        better=draw(st.sampled_from(["lower", "higher"])),
        base=draw(numbers),
        head=draw(numbers),
        base_repeats=draw(st.integers(1, 9)),
        head_repeats=draw(st.integers(1, 9)),
        threshold=0.1,
        noise=draw(st.floats(0, math.inf)),
        worse=draw(st.booleans()),
        red=draw(st.booleans()),
        reproduce=("pytest", "x"),
    )


@st.composite
def drift_rows(draw: st.DrawFn, names: list[str]) -> DriftRow:
    values = draw(st.dictionaries(devices, numbers, min_size=1))
    return DriftRow(
        test=draw(st.sampled_from(names)),
        name=draw(texts),
        unit=draw(texts),
        values=values,
        reference=next(iter(values)),
        apart=tuple(values)[1:],
        tolerance=draw(texts),
        before=draw(st.none() | st.booleans()),
        red=draw(st.booleans()),
    )


def contradictions(names: list[str]) -> st.SearchStrategy[Contradiction]:
    said = st.lists(st.tuples(texts, st.sampled_from(Outcome)), max_size=3).map(tuple)
    evidence = st.sampled_from(Evidence)
    return st.builds(Contradiction, test=st.sampled_from(names), device=devices, evidence=evidence, results=said)


@st.composite
def histories(draw: st.DrawFn) -> CellHistory:
    past = st.builds(PastResult, commit=texts, time=numbers, outcome=st.sampled_from(Outcome), reruns=st.integers(0, 2))
    results = tuple(draw(st.lists(past, max_size=3)))
    points = st.lists(st.builds(TrendPoint, commit=texts, value=numbers), max_size=3).map(tuple)
    return CellHistory(
        results=results,
        failing_since=draw(st.sampled_from([None, *results])),
        flakes=draw(st.integers(0, len(results))),
        trends=draw(st.dictionaries(texts, points, max_size=2)),
    )
