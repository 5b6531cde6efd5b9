"""Config, head and base -> Verdict."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.config.pattern import TestIndex
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.verdict import coverage
from pytest_gpumatrix.verdict.baseline import baseline_notes, commit_of
from pytest_gpumatrix.verdict.comparison import Sides, changes
from pytest_gpumatrix.verdict.drift import drifts
from pytest_gpumatrix.verdict.expected import Settlement, asked_for, settle, stale_expectations
from pytest_gpumatrix.verdict.matrix import Matrix, build_matrix
from pytest_gpumatrix.verdict.metrics import metric_changes
from pytest_gpumatrix.verdict.renames import as_renamed, renames
from pytest_gpumatrix.verdict.unread import refused_devices, unread_devices
from pytest_gpumatrix.verdict.verdict import ExpectedRow, MissingDevice, NeverRunRow, StaleRow, Verdict


def judge(config: Config, head: Results, base: Results | None, *, today: datetime.date) -> Verdict:
    """Everything that a report says of one run, against a base if there is one.

    ``today`` decides which expectations have expired. ``config.devices`` is the plan: none of them may be missing.
    """
    matrix = build_matrix(config, head.columns)
    tests = TestIndex(matrix.cells)
    unread = unread_devices(head)
    missing = coverage.missing_devices(matrix, unread)
    settlement = settle(config, matrix, tests, today)
    sides = _sides(config, settlement, base, _head_reported(matrix, missing, unread))
    measured = asked_for(matrix, settlement)
    metrics = metric_changes(config, measured, sides.base, tests)
    drift = drifts(config, measured, sides.base, tests)
    decided = not missing
    never_run = coverage.never_run(settlement, fail_on=config.fail_on) if decided else ()
    return Verdict(
        devices=coverage.summaries(settlement.matrix, missing),
        changes=changes(sides, config.fail_on),
        expected=_expected(settlement),
        never_run=never_run,
        never_run_decided=decided,
        never_run_natively=coverage.never_run_natively(matrix),
        missing=missing,
        broken=_broken_elsewhere(config, head),
        stale=_stale(config, matrix, tests, today, sides.head_reported),
        notes=(*baseline_notes(config, sides, missing, head, base), *metrics.notes, *drift.notes, *_way_out(never_run)),
        missing_is_incomplete=FailOn.MISSING_DEVICE in config.fail_on,
        matrix=settlement.matrix,
        commit=commit_of(head),
        base_commit=commit_of(base) if base else None,
        metrics=metrics.rows,
        drift=drift.rows,
        contradictions=tuple(sorted(head.contradictions, key=lambda item: (item.test, item.device, item.evidence))),
        refused=dict(sorted(head.refused.items())),
        base_refused=dict(sorted(base.refused.items())) if base else {},
    )


def _sides(config: Config, settlement: Settlement, base: Results | None, head_reported: frozenset[str]) -> Sides:
    if base is None:
        return Sides(settlement=settlement, base=None, head_reported=head_reported, base_reported=frozenset())
    matrix = build_matrix(config, base.columns)
    base_reported = _base_reported(matrix, unread_devices(base))
    renamed = renames(matrix, settlement.matrix, head_reported & base_reported)
    return Sides(
        settlement=settlement,
        base=as_renamed(matrix, renamed),
        head_reported=head_reported,
        base_reported=base_reported,
        renamed=renamed,
    )


def _way_out(never_run: Collection[NeverRunRow]) -> Iterable[str]:
    if any(row.red for row in never_run):
        yield (
            "a test that no device runs is red by `fail-on: never-run`; an expectation `expect: skip` in gpumatrix.yml "
            "lets one be"
        )


def _broken_elsewhere(config: Config, head: Results) -> dict[str, str]:
    """Devices out of the plan of which a file counts as none; one that was refused is named as that."""
    others = head.broken.keys() - {device.name for device in config.devices} - refused_devices(head).keys()
    return {name: head.broken[name] for name in sorted(others)}


def _head_reported(matrix: Matrix, missing: Iterable[MissingDevice], unread: Mapping[str, str]) -> frozenset[str]:
    absent = {item.device for item in missing} | unread.keys()
    reported = (d.name for d in matrix.devices if d.reported is not Evidence.NONE)
    return frozenset(reported) - absent


def _base_reported(base: Matrix, unread: Mapping[str, str]) -> frozenset[str]:
    return frozenset(device.name for device in base.devices if device.met) - unread.keys()


def _expected(settlement: Settlement) -> tuple[ExpectedRow, ...]:
    cells = settlement.matrix.cells
    return tuple(
        ExpectedRow(test=test, device=device, cell=cells[test][device].cell, expectation=expectation)
        for test, row in settlement.met.items()
        for device, expectation in row.items()
    )


def _stale(
    config: Config, matrix: Matrix, tests: TestIndex, today: datetime.date, reported: Collection[str]
) -> tuple[StaleRow, ...]:
    red = FailOn.STALE_EXPECTATION in config.fail_on
    return tuple(
        StaleRow(expectation=item.expectation, reason=item.reason, red=red)
        for item in stale_expectations(config, matrix, tests, today, reported=reported)
    )
