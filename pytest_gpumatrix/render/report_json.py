"""A verdict as JSON: exact, complete and in an order that depends on nothing but the results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import msgspec

from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.render import report_schema as shape
from pytest_gpumatrix.render.history_json import history_entry, json_number
from pytest_gpumatrix.render.slow import slow_rows
from pytest_gpumatrix.triage.cause import Cause
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import (
    ChangedCell,
    ChangeRow,
    DeviceSummary,
    DriftRow,
    ExpectedRow,
    MetricRow,
    NeverRunRow,
    StaleRow,
    Verdict,
)

_NOT_ASCII = re.compile("[^\x00-\x7f]")  # in strings alone
_LONGEST_MESSAGE = 4000  # characters; the result files have the rest


def render_json(verdict: Verdict) -> str:
    """The report as JSON text, ASCII only, ended by a newline. report.schema.json beside this file has its shape."""
    report = _report(verdict)
    try:
        text = msgspec.json.format(msgspec.json.encode(report), indent=2).decode()  # ten times as fast as json
    except UnicodeEncodeError:  # a lone surrogate in a test's name, which JSON's grammar has and msgspec has not
        text = json.dumps(msgspec.to_builtins(report), indent=2)
    if not text.isascii():
        text = _NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text)
    return text + "\n"


def _report(verdict: Verdict) -> shape.Report:
    return shape.Report(
        schema=2,
        verdict=verdict.conclusion,
        exit_code=verdict.exit_code,
        headline=headline(verdict),
        notes=list(verdict.notes),
        devices=[_device(summary) for summary in verdict.devices],
        changes=[_change(row) for row in verdict.changes],
        metrics=[_metric(row) for row in verdict.metrics],
        drift=[_drift(row) for row in verdict.drift],
        expected=_expected(verdict.expected),
        never_run=[_never_run(row) for row in verdict.never_run],
        never_run_decided=verdict.never_run_decided,
        never_run_natively=verdict.never_run_natively,
        slow=[
            shape.SlowEntry(
                finding=_bounded(row.finding), devices={name: list(on.tests) for name, on in row.devices.items()}
            )
            for row in slow_rows(verdict.matrix)
        ],
        missing_devices=[shape.MissingEntry(device=item.device, reason=item.reason) for item in verdict.missing],
        broken=dict(verdict.broken),
        commit=verdict.commit,
        base_commit=verdict.base_commit,
        refused=dict(verdict.refused),
        base_refused=dict(verdict.base_refused),
        contradictions=[_contradiction(item) for item in verdict.contradictions],
        stale_expectations=[_stale(row) for row in verdict.stale],
        history={
            test: {device: history_entry(item) for device, item in devices.items()}
            for test, devices in verdict.history.items()
        },
    )


def _device(summary: DeviceSummary) -> shape.DeviceEntry:
    device = summary.device
    return shape.DeviceEntry(
        device=device.name,
        capability=str(device.capability) if device.capability else None,
        architecture=device.architecture,
        evidence=device.reported,
        require=device.require,
        planned=device.planned,
        missing=summary.missing,
        counts={outcome: total for outcome in Outcome if (total := summary.total(outcome))},
        counts_by_evidence={
            evidence: {outcome: summary.counts[evidence][outcome] for outcome in Outcome if outcome in counts}
            for evidence in Evidence
            if (counts := summary.counts.get(evidence))
        },
    )


def _change(row: ChangeRow) -> shape.ChangeEntry:
    return shape.ChangeEntry(
        test=row.test,
        change=row.change,
        scope=row.scope,
        red=row.red,
        devices={name: _changed(part) for name, part in row.devices.items()},
        reproduce=" ".join(row.reproduce),
        renamed_from=row.renamed_from,
    )


def _changed(part: ChangedCell) -> shape.ChangedEntry:
    """A cell that is absent from head did not run there."""
    cell = part.cell or Cell(test="", outcome=Outcome.NOT_RUN, evidence=Evidence.NONE, message="absent")
    return shape.ChangedEntry(
        outcome=cell.outcome,
        evidence=cell.evidence,
        message=_bounded(cell.message),
        cause=_cause(cell.cause),
        place=_place(cell.place),
        reruns=cell.reruns,
        slow=_slow(cell),
        before=_brief(part.before) if part.before else None,
        weaker=[_brief(other) for other in part.lost],
        note=part.note,
    )


def _cell(cell: Cell) -> shape.CellEntry:
    return shape.CellEntry(
        outcome=cell.outcome,
        evidence=cell.evidence,
        message=_bounded(cell.message),
        cause=_cause(cell.cause),
        place=_place(cell.place),
        reruns=cell.reruns,
        slow=_slow(cell),
    )


def _slow(cell: Cell) -> list[str]:
    return [_bounded(finding) for finding in cell.slow] if cell.slow else []


def _brief(cell: Cell) -> shape.Brief:
    return shape.Brief(outcome=cell.outcome, evidence=cell.evidence)


def _cause(cause: Cause | None) -> shape.CauseEntry | None:
    if cause is None:
        return None
    return shape.CauseEntry(
        category=cause.category,
        action=cause.action,
        advice=cause.advice,
        confidence=cause.confidence,
        evidence=_bounded(cause.evidence),
        rule=cause.rule,
        reason=cause.reason,
        note=_bounded(cause.note),
    )


def _place(place: Place | None) -> shape.PlaceEntry | None:
    return shape.PlaceEntry(file=_bounded(place.file), line=place.line) if place else None


def _metric(row: MetricRow) -> shape.MetricEntry:
    return shape.MetricEntry(
        test=row.test,
        device=row.device,
        name=row.name,
        unit=row.unit,
        better=row.better,
        base=json_number(row.base),
        head=json_number(row.head),
        base_repeats=row.base_repeats,
        head_repeats=row.head_repeats,
        threshold=json_number(row.threshold),
        noise=json_number(row.noise),
        worse=row.worse,
        red=row.red,
        reproduce=" ".join(row.reproduce),
    )


def _drift(row: DriftRow) -> shape.DriftEntry:
    return shape.DriftEntry(
        test=row.test,
        name=row.name,
        unit=row.unit,
        values={device: json_number(value) for device, value in row.values.items()},
        reference=row.reference,
        apart=list(row.apart),
        tolerance=row.tolerance,
        before=row.before,
        red=row.red,
        reproduce=" ".join(row.reproduce),
    )


def _expected(rows: Iterable[ExpectedRow]) -> list[shape.ExpectedEntry]:
    """One entry per test and expectation."""
    found: dict[tuple[str, str], shape.ExpectedEntry] = {}
    for row in rows:
        fresh = shape.ExpectedEntry(
            test=row.test, devices={}, reason=row.expectation.reason, place=row.expectation.place
        )
        found.setdefault((row.test, row.expectation.place), fresh).devices[row.device] = _cell(row.cell)
    return list(found.values())


def _never_run(row: NeverRunRow) -> shape.NeverRunEntry:
    return shape.NeverRunEntry(
        test=row.test,
        red=row.red,
        devices={name: _cell(cell) for name, cell in sorted(row.why.items())},
        reproduce=" ".join(row.reproduce),
    )


def _contradiction(item: Contradiction) -> shape.ContradictionEntry:
    return shape.ContradictionEntry(
        test=item.test,
        device=item.device,
        evidence=item.evidence,
        results=[shape.SaidEntry(file=file, outcome=outcome) for file, outcome in item.results],
    )


def _stale(row: StaleRow) -> shape.StaleEntry:
    return shape.StaleEntry(
        place=row.expectation.place,
        test=row.expectation.test.text,
        devices=row.expectation.devices.text,
        reason=row.reason,
        red=row.red,
    )


def _bounded(text: str) -> str:
    cut = len(text) - _LONGEST_MESSAGE
    return text if cut <= 0 else f"{text[:_LONGEST_MESSAGE]}... ({cut:,} more characters)"
