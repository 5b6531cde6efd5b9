"""The repeats of a metric of one cell, and which rule of gpumatrix.yml speaks of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.metric_rule import MetricRule
from pytest_gpumatrix.config.pattern import TestIndex
from pytest_gpumatrix.record.cell import Cell, Metric
from pytest_gpumatrix.record.outcome import Evidence, Outcome

_LONGEST = 120  # characters of a name or a place in a note


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """The repeats of one metric."""

    unit: str
    better: str  # "lower" or "higher"
    values: tuple[float, ...]
    problem: str = ""  # why it cannot be compared

    @property
    def median(self) -> float:
        """Of its repeats."""
        return self.values[0] if len(self.values) == 1 else statistics.median(self.values)


class Rules:
    """The entries of ``metrics``, found by metric and test: of those that match the first holds."""

    def __init__(self, config: Config, tests: TestIndex) -> None:
        self._rules = [
            (rule, None if rule.test.text == "*" else rule.test.among(tests)) for rule in config.metrics
        ]  # None: every test
        self._by_name: dict[str, list[tuple[MetricRule, set[str] | None]]] = {}

    def of(self, test: str, name: str) -> MetricRule | None:
        """The rule of a test's metric."""
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = [item for item in self._rules if item[0].name.matches(name)]
        return next((rule for rule, own in found if own is None or test in own), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class NotCompared:
    """What could not be compared, by reason: one example of each, and how many more there are."""

    _found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, name: str, test: str, why: str) -> None:
        """``kind`` groups, ``why`` is the sentence of this one."""
        found = self._found.setdefault(kind, [])
        found.append(f"{shortened(name)} of {shortened(test)} is not compared: {why}" if not found else "")

    def notes(self) -> tuple[str, ...]:
        """A sentence for each reason."""
        return tuple(
            found[0] + (f" ({len(found) - 1:,} more like it)" if len(found) > 1 else "")
            for found in self._found.values()
        )


def is_measured(cell: Cell) -> bool:
    """Whether a cell's figures are those of the test as it should run, on the device itself."""
    passed = cell.outcome is Outcome.PASSED or (cell.outcome is Outcome.XPASSED and not cell.strict)
    return passed and cell.evidence is Evidence.NATIVE


def series_of(cell: Cell) -> Mapping[str, Series]:
    """What a test measured, by metric."""
    if not cell.metrics:
        return {}
    by_name: dict[str, list[Metric]] = {}
    for metric in cell.metrics:
        by_name.setdefault(metric.name, []).append(metric)
    return {name: _series(repeats) for name, repeats in by_name.items()}


def _series(repeats: Sequence[Metric]) -> Series:
    first = repeats[0]
    values = tuple(metric.value for metric in repeats)
    problem = ""
    if len({metric.unit for metric in repeats}) > 1:
        problem = "its repeats differ in their unit"
    elif len({metric.better for metric in repeats}) > 1:
        problem = "its repeats differ in what is better"
    elif not all(map(math.isfinite, values)) or not math.isfinite(statistics.median(values)):
        problem = "a value is not finite"
    return Series(unit=first.unit, better=first.better, values=values, problem=problem)


def shortened(text: str) -> str:
    """What a note has room for."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
