"""Metrics that differ between devices by more than gpumatrix.yml tolerates: the loss of h100 and that of rtx3090."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.config.metric_rule import MetricRule
from pytest_gpumatrix.config.pattern import TestIndex
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.verdict.matrix import Matrix, Resolved
from pytest_gpumatrix.verdict.reproduce import reproduce_command
from pytest_gpumatrix.verdict.series import NotCompared, Rules, Series, is_measured, series_of
from pytest_gpumatrix.verdict.verdict import DriftRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Drifts:
    """The metrics that drifted apart, and what could not be compared."""

    rows: tuple[DriftRow, ...] = ()
    notes: tuple[str, ...] = ()


def drifts(config: Config, head: Matrix, base: Matrix | None, tests: TestIndex) -> Drifts:
    """Hold each metric with a ``tolerance`` on each device against its reference device's, of native passes alone.

    ``base`` has its tests under head's names; ``tests`` are those of head. What drifted in the base too is not red.
    """
    if all(rule.tolerance is None for rule in config.metrics):
        return Drifts()
    rules, skipped = Rules(config, tests), NotCompared()
    red = FailOn.NUMERIC_DRIFT in config.fail_on
    rows: list[DriftRow] = []
    for test, row in head.cells.items():
        before = _by_metric(base.cells.get(test, {})) if base else {}
        for name, measured in sorted(_by_metric(row).items()):
            rule = rules.of(test, name)
            if rule is not None and rule.tolerance is not None:
                rows.extend(_drift(test, name, measured, before.get(name, {}), rule, skipped, red=red))
    return Drifts(rows=tuple(rows), notes=skipped.notes())


def _by_metric(row: Mapping[str, Resolved]) -> Mapping[str, Mapping[str, Series]]:
    """A test's metrics on the devices that measured them, in the order of the matrix."""
    found: dict[str, dict[str, Series]] = {}
    for device, resolved in row.items():
        if device != CPU and is_measured(resolved.cell):
            for name, series in series_of(resolved.cell).items():
                found.setdefault(name, {})[device] = series
    return found


def _drift(
    test: str,
    name: str,
    measured: Mapping[str, Series],
    before: Mapping[str, Series],
    rule: MetricRule,
    skipped: NotCompared,
    *,
    red: bool,
) -> Iterator[DriftRow]:
    reference = rule.reference or next(iter(measured))
    if reference not in measured:
        skipped.add("reference", name, test, f"the reference device {reference} has no value of it")
        return
    values = dict(_comparable(test, name, measured, reference, skipped))
    apart = tuple(device for device in values if _apart(values, device, reference, rule))
    if not apart:
        return
    known = dict(_comparable(test, name, before, reference, NotCompared()))
    was = {device: _apart(known, device, reference, rule) for device in apart}
    so_before = None if None in was.values() else all(was.values())
    yield DriftRow(
        test=test,
        name=name,
        unit=measured[reference].unit,
        values=values,
        reference=reference,
        apart=apart,
        tolerance=rule.tolerance.text if rule.tolerance else "",
        before=so_before,
        red=red and not so_before,
        reproduce=reproduce_command(test, (reference, *apart)),
    )


def _comparable(
    test: str, name: str, measured: Mapping[str, Series], reference: str, skipped: NotCompared
) -> Iterator[tuple[str, float]]:
    """The medians that can be held against the reference device's, its own among them."""
    unit = measured[reference].unit if reference in measured else None
    for device, series in measured.items():
        if series.problem:
            skipped.add(series.problem, name, f"{test} on {device}", series.problem)
        elif unit is not None and series.unit != unit:
            why = f"its unit is {series.unit or 'none'}, on {reference} {unit or 'none'}"
            skipped.add("unit", name, f"{test} on {device}", why)
        else:
            yield device, series.median


def _apart(values: Mapping[str, float], device: str, reference: str, rule: MetricRule) -> bool | None:
    """Whether a device's value is apart from the reference device's; None: not known."""
    if device not in values or reference not in values or rule.tolerance is None:
        return None
    return rule.tolerance.apart(values[device], values[reference])
