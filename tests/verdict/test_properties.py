"""What must hold for every matrix."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.render.markdown import render_markdown
from pytest_gpumatrix.render.report_json import render_json
from pytest_gpumatrix.render.terminal import render_report
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.headline import headline
from tests.verdict.runs import expectation, plan, verdict

TESTS = ["a", "b", "c"]
DEVICES = ["h100", "h200", "rtx3090", "l40s", "cpu", "lab"]
CONFIG = plan("h100", "h200", "rtx3090", "l40s", require={"l40s": "compiled"})
EXPECTED = plan("h100", "rtx3090", expectations=(expectation("a", "rtx3090"), expectation("b*", "h100", strict=False)))


@st.composite
def cells(draw: st.DrawFn, test: str, evidence: Evidence) -> Cell:
    return Cell(
        test=test,
        outcome=draw(st.sampled_from(Outcome)),
        evidence=evidence,
        strict=draw(st.booleans()),
        reruns=draw(st.integers(0, 1)),
        message=draw(st.sampled_from(["", "m"])),
        requirement=draw(st.sampled_from([None, "gpu()"])),
    )


@st.composite
def runs(draw: st.DrawFn) -> Results:
    columns = []
    keys = st.tuples(st.sampled_from(DEVICES), st.sampled_from([e for e in Evidence if e is not Evidence.NONE]))
    for device, evidence in draw(st.lists(keys, max_size=8)):  # a key twice: shards
        chosen = draw(st.lists(st.sampled_from(TESTS), unique=True))
        own = {test: draw(cells(test, evidence)) for test in chosen}
        columns.append(Column(device=device, evidence=evidence, cells=own))
    broken = draw(st.dictionaries(st.sampled_from(DEVICES), st.just("cut off"), max_size=1))
    return Results(columns=tuple(columns), broken=broken)


configs = st.sampled_from([CONFIG, EXPECTED, plan(), plan("h100", fail_on=frozenset(FailOn))])


@settings(max_examples=80, deadline=None)
@given(configs, runs(), st.none() | runs())
def test_verdict_exit_code_headline_and_reports_agree(config, head, base) -> None:  # type: ignore[no-untyped-def]
    found = verdict(config, head, base)
    word = found.conclusion.value
    assert found.exit_code == {"ok": 0, "regression": 1, "incomplete": 3}[word]
    assert headline(found).startswith(f"{word}: ")
    assert render_report(found).startswith(f"{word}: ")
    assert render_markdown(found).splitlines()[0].endswith(f"gpumatrix: {word}")
    assert f'"verdict": "{word}"' in render_json(found)
    reds = [r for r in found.changes if r.red] + [r for r in found.never_run if r.red]
    assert (word == "regression") == bool(reds or any(r.red for r in found.stale))
    assert all(r.reproduce for r in reds)


@settings(max_examples=80, deadline=None)
@given(configs, runs(), st.none() | runs())
def test_unknown_is_never_green_never_fixed_never_new(config, head, base) -> None:  # type: ignore[no-untyped-def]
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


@settings(max_examples=80, deadline=None)
@given(configs, runs(), st.none() | runs())
def test_every_bad_cell_is_a_change_or_expected(config, head, base) -> None:  # type: ignore[no-untyped-def]
    found = verdict(config, head, base)
    said = {(r.test, device) for r in found.changes for device in r.devices}
    said |= {(r.test, r.device) for r in found.expected}
    for test, row in found.matrix.cells.items():
        for device, resolved in row.items():
            assert resolved.cell.standing is not Standing.BAD or (test, device) in said


@settings(max_examples=80, deadline=None)
@given(configs, runs(), st.none() | runs(), st.randoms(use_true_random=False))
def test_the_order_of_files_and_rows_never_matters(config, head, base, chance) -> None:  # type: ignore[no-untyped-def]
    found = render_json(verdict(config, head, base))
    mixed = render_json(verdict(config, shuffled(head, chance), shuffled(base, chance) if base else None))
    assert mixed == found


@settings(max_examples=80, deadline=None)
@given(configs, runs())
def test_a_run_against_itself_finds_nothing_new(config, head) -> None:  # type: ignore[no-untyped-def]
    allowed = {Change.STILL_FAILING, Change.UNEXPECTED_PASS, Change.UNKNOWN}
    assert {r.change for r in verdict(config, head, head).changes} <= allowed


def shuffled(results: Results, chance: random.Random) -> Results:
    columns = list(results.columns)
    chance.shuffle(columns)
    mixed = []
    for column in columns:
        items = list(column.cells.items())
        chance.shuffle(items)
        mixed.append(Column(device=column.device, evidence=column.evidence, cells=dict(items)))
    return Results(columns=tuple(mixed), broken=results.broken)
