"""Metrics that moved and values that drift apart, in words that every renderer says."""

from __future__ import annotations

from pytest_gpumatrix.render.numbers import number, relative
from pytest_gpumatrix.verdict.verdict import DriftRow, MetricRow

_MOST_DEVICES = 12
_BEFORE = {None: "", True: ", as in the base", False: ", not so in the base"}


def metric_words(row: MetricRow) -> str:
    """ "588.2 -> 497.1 TFLOP/s, -15.5%, worse (threshold 10.0%, noise 1.8% of 5 and 5 repeats)"; a foreign unit."""
    values = f"{number(row.base)} -> {_measured(row.head, row.unit)}, {relative(row.base, row.head)}"
    return f"{values}, {'worse' if row.worse else 'better'} ({noise_words(row)})"


def noise_words(row: MetricRow) -> str:
    """What a change of a metric was held against."""
    repeats = f"{row.base_repeats:,} and {row.head_repeats:,} repeats"
    return f"threshold {row.threshold:.1%}, noise {row.noise:.1%} of {repeats}"


def drift_words(row: DriftRow) -> str:
    """ "h100: 3.2791 (reference), a100: 3.3418 (apart); tolerance 1%, as in the base"; names and unit are foreign."""
    values = [_value(name, value, row) for name, value in list(row.values.items())[:_MOST_DEVICES]]
    if (more := len(row.values) - _MOST_DEVICES) > 0:
        values.append(f"and {more:,} more")
    return f"{', '.join(values)}; tolerance {row.tolerance}{_BEFORE[row.before]}"


def _value(name: str, value: float, row: DriftRow) -> str:
    mark = " (reference)" if name == row.reference else " (apart)" if name in row.apart else ""
    return f"{name}: {_measured(value, row.unit, digits=6)}{mark}"  # a drift may be small


def _measured(value: float, unit: str, *, digits: int = 4) -> str:
    return f"{number(value, digits=digits)} {unit}".rstrip()
