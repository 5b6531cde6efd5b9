"""What must hold for every matrix."""

from __future__ import annotations

import dataclasses
import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.fail_on import DEFAULT_FAIL_ON, FailOn
from pytest_gpumatrix.record.cell import Cell, Metric
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.render.markdown import render_markdown
from pytest_gpumatrix.render.report_json import render_json
from pytest_gpumatrix.render.terminal import render_report
from pytest_gpumatrix.triage.cause import Action, Category, Cause
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import Conclusion
from tests.verdict.runs import expectation, metric_rule, plan, verdict

TESTS = ["a.py::t", "a.py::u[1]", "b.py::t", "c.py::T::u[1]"]  # some may be taken for moved ones
DEVICES = ["h100", "h200", "rtx3090", "l40s", "cpu", "lab"]
METRICS = (metric_rule("loss", "1%"), metric_rule("tflops", threshold=0.02))
CONFIG = plan("h100", "h200", "rtx3090", "l40s", require={"l40s": "compiled"}, metrics=METRICS)
EXPECTED = plan(
    "h100",
    "rtx3090",
    expectations=(
        expectation("a*", "rtx3090"),
        expectation("b*", "h100", strict=False),
        expectation("*u*", "h100", expect="flaky"),
        expectation("a.py::t", "h100", expect="crash"),
    ),
)
SEVERITY = {Conclusion.OK: 0, Conclusion.INCOMPLETE: 1, Conclusion.REGRESSION: 2}
CAUSES = [Category.NO_KERNEL_IMAGE, Category.DEVICE_STATE, Category.UNKNOWN]  # one of the code, one of the machine
GOOD_OR_NEUTRAL = [Outcome.PASSED, Outcome.XFAILED, Outcome.SKIPPED, Outcome.SKIPPED_REQUIREMENT]


@st.composite
def cells(draw: st.DrawFn, test: str, evidence: Evidence) -> Cell:
    outcome = draw(st.sampled_from(Outcome))
    bad = outcome in (Outcome.FAILED, Outcome.ERROR, Outcome.CRASHED, Outcome.TIMEOUT)
    cause = draw(st.none() | st.sampled_from(CAUSES)) if bad else None
    values = st.sampled_from([0.0, 1.0, 1.5, float("nan"), float("inf")])
    metrics = st.builds(Metric, name=st.sampled_from(["loss", "tflops"]), value=values, unit=st.sampled_from("ab"))
    return Cell(
        test=test,
        outcome=outcome,
        evidence=evidence,
        strict=draw(st.booleans()),
        reruns=draw(st.integers(0, 1)),
        message=draw(st.sampled_from(["", "m"])),
        requirement=draw(st.sampled_from([None, "gpu()"])),
        cause=Cause(category=cause, action=Action.SKIP, advice="a", rule="r") if cause else None,
        metrics=tuple(draw(st.lists(metrics, max_size=3))),
        duration=draw(st.sampled_from([0.0, 1.0, 9.0])),
    )


@st.composite
def runs(draw: st.DrawFn) -> Results:
    columns = []
    keys = st.tuples(st.sampled_from(DEVICES), st.sampled_from([e for e in Evidence if e is not Evidence.NONE]))
    for device, evidence in draw(st.lists(keys, max_size=8)):  # a key twice: shards
        chosen = draw(st.lists(st.sampled_from(TESTS), unique=True))
        own = {test: draw(cells(test, evidence)) for test in chosen}
        facts = SessionFacts(gpu_name=draw(st.sampled_from([None, "A", "A", "B"])))
        columns.append(Column(device=device, evidence=evidence, cells=own, facts=facts))
    broken = draw(st.dictionaries(st.sampled_from(DEVICES), st.just("cut off"), max_size=1))
    refused = draw(st.dictionaries(st.sampled_from(["h100.xml", "lab.native.xml", "x"]), st.just("no XML"), max_size=1))
    return Results(columns=tuple(columns), broken=broken, refused=refused if draw(st.booleans()) else {})


configs = st.sampled_from([CONFIG, EXPECTED, plan(), plan("h100", fail_on=frozenset(FailOn), metrics=METRICS)])
for_every_matrix = settings(max_examples=80, deadline=None)


@for_every_matrix
@given(configs, runs(), st.none() | runs())
def test_verdict_exit_code_headline_and_reports_agree(config: Config, head: Results, base: Results | None) -> None:
    found = verdict(config, head, base)
    word = found.conclusion.value
    refused = bool(head.refused or (base and base.refused))
    assert found.exit_code == (2 if refused else {"ok": 0, "regression": 1, "incomplete": 3}[word])
    assert headline(found).startswith(f"{word}: ")
    assert not headline(found).endswith(": ")
    assert render_report(found).startswith(f"{word}: ")
    assert f"gpumatrix: {word}" in render_markdown(found).splitlines()[0]
    report = json.loads(render_json(found))
    assert (report["verdict"], report["headline"]) == (word, headline(found))
    told = [(row["test"], row["change"], row["red"], list(row["devices"])) for row in report["changes"]]
    assert told == [(row.test, row.change.value, row.red, list(row.devices)) for row in found.changes]
    commands = [r.reproduce for r in found.changes if r.red]
    commands += [r.reproduce for r in found.never_run if r.red]
    commands += [r.reproduce for r in found.metrics if r.red]
    commands += [r.reproduce for r in found.drift if r.red]
    assert all(commands)
    assert (word == "regression") == bool(commands or any(r.red for r in found.stale))


@for_every_matrix
@given(configs, runs(), st.none() | runs())
def test_unknown_is_never_green_never_fixed_never_new(config: Config, head: Results, base: Results | None) -> None:
    found = verdict(config, head, base)
    of = {(r.test, device): r.change for r in found.changes for device in r.devices}
    unknown = [
        (test, device)
        for test, row in found.matrix.cells.items()
        for device, resolved in row.items()
        if resolved.cell.standing is Standing.UNKNOWN
    ]
    assert all(of[key] is Change.UNKNOWN for key in unknown)
    assert not unknown or found.exit_code != 0


@for_every_matrix
@given(configs, runs(), st.none() | runs())
def test_every_bad_cell_is_a_change_or_expected(config: Config, head: Results, base: Results | None) -> None:
    found = verdict(config, head, base)
    said = {(r.test, device) for r in found.changes for device in r.devices}
    said |= {(r.test, r.device) for r in found.expected}
    for test, row in found.matrix.cells.items():
        for device, resolved in row.items():
            assert resolved.cell.standing is not Standing.BAD or (test, device) in said


@for_every_matrix
@given(configs, runs(), st.none() | runs())
def test_a_missing_device_and_a_refused_file_are_never_ok(config: Config, head: Results, base: Results | None) -> None:
    found = verdict(config, head, base)
    planned = {device.name for device in config.devices}
    absent = planned - {column.device for column in head.columns}
    assert absent <= {item.device for item in found.missing}
    if (absent or found.missing) and FailOn.MISSING_DEVICE in config.fail_on:
        assert found.conclusion is not Conclusion.OK
    if head.refused or (base and base.refused):
        assert (found.conclusion is not Conclusion.OK, found.exit_code) == (True, 2)


@for_every_matrix
@given(configs, runs(), st.none() | runs(), st.randoms(use_true_random=False))
def test_the_order_of_files_rows_and_devices_never_matters(
    config: Config, head: Results, base: Results | None, chance: random.Random
) -> None:
    found = verdict(config, head, base)
    mixed = verdict(config, shuffled(head, chance), shuffled(base, chance) if base else None)
    assert dataclasses.asdict(mixed).__repr__() == dataclasses.asdict(found).__repr__()
    devices = list(config.devices)
    chance.shuffle(devices)
    turned = verdict(dataclasses.replace(config, devices=tuple(devices)), head, base)
    assert (turned.conclusion, turned.exit_code) == (found.conclusion, found.exit_code)
    assert {(r.test, r.change, r.red, frozenset(r.devices)) for r in turned.changes} == {
        (r.test, r.change, r.red, frozenset(r.devices)) for r in found.changes
    }
    assert [(r.test, r.device, r.name, r.red) for r in turned.metrics] == [
        (r.test, r.device, r.name, r.red) for r in found.metrics
    ]


@for_every_matrix
@given(configs, runs())
def test_a_run_against_itself_finds_nothing_new(config: Config, head: Results) -> None:
    found = verdict(config, head, head)
    assert {r.change for r in found.changes} <= {Change.STILL_FAILING, Change.UNEXPECTED_PASS, Change.UNKNOWN}
    assert found.metrics == ()
    assert not any("moved" in note for note in found.notes)
    assert all(row.renamed_from is None for row in found.changes)
    assert not any(row.red for row in found.drift)


@for_every_matrix
@given(runs(), st.none() | runs(), st.data())
def test_a_new_failing_test_is_always_a_regression(head: Results, base: Results | None, data: st.DataObject) -> None:
    if not head.columns:
        return
    place = data.draw(st.integers(0, len(head.columns) - 1))
    column = head.columns[place]
    fresh = Cell(test="z.py::fresh", outcome=Outcome.FAILED, evidence=column.evidence)
    grown = _with(head, place, fresh)
    assert verdict(CONFIG, grown, base).conclusion is Conclusion.REGRESSION


@for_every_matrix
@given(runs(), st.none() | runs(), st.data())
def test_a_cell_that_fails_instead_never_makes_the_verdict_better(
    head: Results, base: Results | None, data: st.DataObject
) -> None:
    # A test that no device ran is red in another way than one that fails for the first time.
    config = dataclasses.replace(CONFIG, fail_on=DEFAULT_FAIL_ON - {FailOn.NEVER_RUN})
    fine = [
        (place, cell)
        for place, column in enumerate(head.columns)
        for cell in column.cells.values()
        if cell.outcome in GOOD_OR_NEUTRAL
    ]
    if not fine:
        return
    place, cell = data.draw(st.sampled_from(fine))
    failing = _with(head, place, dataclasses.replace(cell, outcome=Outcome.FAILED, strict=False))
    before, after = verdict(config, head, base), verdict(config, failing, base)
    assert SEVERITY[after.conclusion] >= SEVERITY[before.conclusion]


def _with(results: Results, place: int, cell: Cell) -> Results:
    columns = list(results.columns)
    columns[place] = dataclasses.replace(columns[place], cells={**columns[place].cells, cell.test: cell})
    return dataclasses.replace(results, columns=tuple(columns))


def shuffled(results: Results, chance: random.Random) -> Results:
    columns = list(results.columns)
    chance.shuffle(columns)
    mixed = []
    for column in columns:
        items = list(column.cells.items())
        chance.shuffle(items)
        mixed.append(dataclasses.replace(column, cells=dict(items)))
    return dataclasses.replace(results, columns=tuple(mixed))
