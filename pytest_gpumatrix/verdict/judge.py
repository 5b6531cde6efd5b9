"""Config, head and base -> Verdict."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.verdict import coverage
from pytest_gpumatrix.verdict.comparison import Sides, changes
from pytest_gpumatrix.verdict.expected import Settlement, settle, stale_expectations
from pytest_gpumatrix.verdict.matrix import Matrix, MatrixDevice, build_matrix
from pytest_gpumatrix.verdict.verdict import ExpectedRow, MissingDevice, StaleRow, Verdict


def judge(config: Config, head: Results, base: Results | None, *, today: datetime.date) -> Verdict:
    """Everything that a report says of one run, against a base if there is one.

    ``today`` decides which expectations have expired. ``config.devices`` is the plan: none of them may be missing.
    """
    matrix = build_matrix(config, head.columns)
    missing = coverage.missing_devices(matrix, head.broken)
    settlement = settle(config, matrix, today)
    base_matrix = build_matrix(config, base.columns) if base else None
    sides = Sides(
        settlement=settlement,
        base=base_matrix,
        head_reported=_head_reported(matrix, missing),
        base_reported=_base_reported(base_matrix, base.broken if base else {}),
    )
    decided = not missing
    return Verdict(
        devices=coverage.summaries(settlement.matrix, missing),
        changes=changes(sides, config.fail_on),
        expected=_expected(settlement),
        never_run=coverage.never_run(matrix, fail_on=config.fail_on) if decided else (),
        never_run_decided=decided,
        never_run_natively=coverage.never_run_natively(matrix),
        missing=missing,
        broken={
            name: head.broken[name] for name in sorted(head.broken.keys() - {device.name for device in config.devices})
        },
        stale=_stale(config, matrix, today),
        notes=tuple(_notes(config, sides, missing)),
        missing_is_incomplete=FailOn.MISSING_DEVICE in config.fail_on,
        matrix=settlement.matrix,
    )


def _head_reported(matrix: Matrix, missing: Iterable[MissingDevice]) -> frozenset[str]:
    absent = {item.device for item in missing}
    reported = (d.name for d in matrix.devices if d.reported is not Evidence.NONE)
    return frozenset(reported) - absent


def _base_reported(base: Matrix | None, broken: Mapping[str, str]) -> frozenset[str]:
    devices = base.devices if base else ()
    return frozenset(device.name for device in devices if device.met) - broken.keys()


def _expected(settlement: Settlement) -> tuple[ExpectedRow, ...]:
    cells = settlement.matrix.cells
    return tuple(
        ExpectedRow(test=test, device=device, cell=cells[test][device].cell, expectation=expectation)
        for test, row in settlement.met.items()
        for device, expectation in row.items()
    )


def _stale(config: Config, matrix: Matrix, today: datetime.date) -> tuple[StaleRow, ...]:
    red = FailOn.STALE_EXPECTATION in config.fail_on
    return tuple(
        StaleRow(expectation=item.expectation, reason=item.reason, red=red)
        for item in stale_expectations(config, matrix, today)
    )


def _notes(config: Config, sides: Sides, missing: tuple[MissingDevice, ...]) -> Iterable[str]:
    """What a reader must know of the plan and the baseline."""
    if not config.devices:
        yield "no gpumatrix.yml: no device is expected, so none can be missing"
    if missing:
        yield "which tests never run is not decided while a device is missing"
    if sides.base is None:
        yield "no baseline: each failure counts as failing, new or not"
        return
    if not sides.has_base:
        yield "the baseline has no results: each failure counts as failing, new or not"
        return
    for device in sides.head.devices:
        if device.name in sides.head_reported and device.name not in sides.base_reported:
            yield f"the baseline has no {_wanted(device)}results of {device.name}"
    for device in sides.base.devices:
        if not device.planned and device.name not in {d.name for d in sides.head.devices}:
            yield f"the baseline has results of {device.name}; head has none"


def _wanted(device: MatrixDevice) -> str:
    return "" if device.name == CPU else f"{device.require.value} "
