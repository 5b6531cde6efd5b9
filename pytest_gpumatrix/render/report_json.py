"""A verdict as JSON, schema 1: exact, complete and in an order that depends on nothing but the results."""

from __future__ import annotations

import json
from typing import Any

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.render.slow import slow_rows
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import (
    ChangedCell,
    ChangeRow,
    DeviceSummary,
    ExpectedRow,
    NeverRunRow,
    StaleRow,
    Verdict,
)

SCHEMA = 1
_LONGEST_MESSAGE = 4000  # characters; the result files have the rest


def render_json(verdict: Verdict) -> str:
    """The report as JSON text, ASCII only, ended by a newline."""
    report = {
        "schema": SCHEMA,
        "verdict": verdict.conclusion.value,
        "headline": headline(verdict),
        "notes": list(verdict.notes),
        "devices": [_device(summary) for summary in verdict.devices],
        "changes": [_change(row) for row in verdict.changes],
        "expected": _expected(verdict.expected),
        "never_run": [_never_run(row) for row in verdict.never_run],
        "slow": [
            {"finding": _bounded(row.finding), "devices": {name: list(on.tests) for name, on in row.devices.items()}}
            for row in slow_rows(verdict.matrix)
        ],
        "never_run_decided": verdict.never_run_decided,
        "never_run_natively": verdict.never_run_natively,
        "missing_devices": [{"device": item.device, "reason": item.reason} for item in verdict.missing],
        "broken": dict(verdict.broken),
        "stale_expectations": [_stale(row) for row in verdict.stale],
    }
    return json.dumps(report, indent=2) + "\n"


def _device(summary: DeviceSummary) -> dict[str, Any]:
    device = summary.device
    return {
        "device": device.name,
        "capability": str(device.capability) if device.capability else None,
        "architecture": device.architecture,
        "evidence": device.reported.value,
        "require": device.require.value,
        "planned": device.planned,
        "missing": summary.missing,
        "counts": {outcome.value: total for outcome in Outcome if (total := summary.total(outcome))},
        "counts_by_evidence": {
            evidence.value: {o.value: summary.counts[evidence][o] for o in Outcome if o in summary.counts[evidence]}
            for evidence in Evidence
            if evidence in summary.counts
        },
    }


def _change(row: ChangeRow) -> dict[str, Any]:
    return {
        "test": row.test,
        "change": row.change.value,
        "scope": row.scope,
        "red": row.red,
        "devices": {name: _changed(part) for name, part in row.devices.items()},
        "reproduce": " ".join(row.reproduce),
    }


def _changed(part: ChangedCell) -> dict[str, Any]:
    found = _cell(part.cell)
    found["before"] = _brief(part.before) if part.before else None
    if part.lost:
        found["weaker"] = [_brief(cell) for cell in part.lost]
    if part.note:
        found["note"] = part.note
    return found


def _cell(cell: Cell | None) -> dict[str, Any]:
    """A cell that is absent from head did not run there."""
    if cell is None:
        brief = {"outcome": Outcome.NOT_RUN.value, "evidence": Evidence.NONE.value}
        return {**brief, "cause": None, "message": "absent"}
    found: dict[str, Any] = {**_brief(cell), "cause": None, "message": _bounded(cell.message)}
    if cell.slow:
        found["slow"] = [_bounded(finding) for finding in cell.slow]
    if cell.cause:
        found["cause"] = cell.cause.category.value
        found["cause_evidence"] = _bounded(cell.cause.evidence)
        found["action"] = cell.cause.action.value
        found["advice"] = cell.cause.advice
    return found


def _brief(cell: Cell) -> dict[str, str]:
    return {"outcome": cell.outcome.value, "evidence": cell.evidence.value}


def _expected(rows: tuple[ExpectedRow, ...]) -> list[dict[str, Any]]:
    """One entry per test and expectation."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        fresh = {
            "test": row.test,
            "devices": {},
            "reason": row.expectation.reason,
            "place": row.expectation.place,
        }
        entry = found.setdefault((row.test, row.expectation.place), fresh)
        entry["devices"][row.device] = _cell(row.cell)
    return list(found.values())


def _never_run(row: NeverRunRow) -> dict[str, Any]:
    return {
        "test": row.test,
        "red": row.red,
        "devices": {name: _cell(cell) for name, cell in sorted(row.why.items())},
        "reproduce": " ".join(row.reproduce),
    }


def _stale(row: StaleRow) -> dict[str, Any]:
    return {
        "place": row.expectation.place,
        "test": row.expectation.test.text,
        "devices": row.expectation.devices.text,
        "reason": row.reason,
        "red": row.red,
    }


def _bounded(text: str) -> str:
    cut = len(text) - _LONGEST_MESSAGE
    return text if cut <= 0 else f"{text[:_LONGEST_MESSAGE]}... ({cut:,} more characters)"
