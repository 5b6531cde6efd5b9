"""Columns merged into one cell per test and device."""

from __future__ import annotations

import itertools

import pytest

from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.verdict.matrix import Resolved, build_matrix
from tests.verdict.runs import cell, plan, run, verdict


def resolved(columns: dict[str, str]) -> Resolved:
    head = run({key: {"t": outcome} for key, outcome in columns.items()})
    return build_matrix(plan("h100"), head.columns).cells["t"]["h100"]


@pytest.mark.parametrize(
    ("columns", "outcome", "evidence"),
    [
        ({"h100": "passed", "h100:emulated": "failed", "h100:compiled": "failed"}, "passed", "native"),
        ({"h100:emulated": "passed", "h100:compiled": "failed"}, "passed", "emulated"),
        ({"h100": "skipped", "h100:emulated": "passed"}, "skipped", "native"),
        ({"h100": "not-run", "h100:compiled": "failed"}, "failed", "compiled"),  # not-run is no evidence
        ({"h100": "not-run", "h100:compiled": "compiled"}, "compiled", "compiled"),
        ({"h100": "unknown", "h100:emulated": "passed"}, "unknown", "none"),  # never green
        ({"h100": "unknown", "h100:compiled": "failed"}, "failed", "compiled"),  # bad counts, whatever its evidence
    ],
)
def test_native_beats_emulated_beats_compiled(columns: dict[str, str], outcome: str, evidence: str) -> None:
    for order in itertools.permutations(columns.items()):
        found = resolved(dict(order))
        assert (found.cell.outcome.value, found.cell.evidence.value) == (outcome, evidence)
        kept = [found.cell.outcome.value, *(lost.outcome.value for lost in found.lost)]
        assert sorted(kept) == sorted(columns.values())  # what lost is kept


def test_evidence_is_never_upgraded() -> None:
    claims_more = Column(device="h100", evidence=Evidence.COMPILED, cells={"t": cell("t", "passed", "native")})
    found = build_matrix(plan("h100"), [claims_more])
    assert found.cells["t"]["h100"].cell.evidence is Evidence.COMPILED
    assert found.devices[0].reported is Evidence.COMPILED


@pytest.mark.parametrize(
    ("outcomes", "counts"),
    [
        (["passed", "failed", "unknown", "skipped"], "failed"),
        (["passed", "unknown", "skipped"], "unknown"),
        (["passed", "skipped"], "passed"),
        (["skipped", "not-run"], "skipped"),
    ],
)
def test_of_two_shards_the_cell_that_may_not_be_lost_counts(outcomes: list[str], counts: str) -> None:
    for order in itertools.permutations(outcomes):
        columns = [run({"h100": {"t": outcome}}).columns[0] for outcome in order]
        assert build_matrix(plan("h100"), columns).cells["t"]["h100"].cell.outcome.value == counts


def test_devices_stand_in_the_order_of_the_plan_then_others_then_the_cpu() -> None:
    head = run({name: {"t": "passed"} for name in ("cpu", "zoo", "abc", "rtx3090")})
    devices = build_matrix(plan("rtx3090", "h100"), head.columns).devices
    assert [device.name for device in devices] == ["rtx3090", "h100", "abc", "zoo", "cpu"]
    assert [device.planned for device in devices] == [True, True, False, False, False]


def test_a_column_s_name_does_not_make_its_cells_better_known() -> None:
    head = run({"h100": {"t": cell("t", "passed", "emulated")}})
    found = verdict(plan("h100"), head)
    assert [(item.device, item.reason.partition(";")[0]) for item in found.missing] == [
        ("h100", "only emulated results")
    ]
    assert found.exit_code == 3
