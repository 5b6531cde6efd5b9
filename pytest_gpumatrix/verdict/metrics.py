"""Metrics of each test and device against the base: which moved, by more than their noise.

The figure of a side is the median of its repeats (values of one name in one cell). A change counts if

    |head - base| > threshold * |base|    and    > noise    and    > absolute

``noise`` is 3 * 1.4826 * MAD, of the side whose repeats scatter more; MAD is the median distance of a side's
repeats from their median, and 1.4826 * MAD estimates the standard deviation of normally distributed values
(Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation", 1993), without being moved by an outlier. It is
that of one value, so that the medians scatter less: noise is taken too large rather than too small. A side with fewer
than three repeats says nothing of its scatter, and counts as none: with single values the threshold alone decides.

The defaults are larger than what moves by itself. A GPU without locked clocks runs at what its temperature and power
allow: 10%. Peak memory does not depend on time, but the allocator's blocks do on the order of events: 5%. Durations
and compilation are single values that hold imports, disks and other users of the machine: on two shared cores, nine
imports of the same torch took 1.43 to 2.15 s, half as long again; hence 50%, and at least a second.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.config.metric_rule import exceeds
from pytest_gpumatrix.config.pattern import TestIndex
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.verdict.matrix import Matrix, MatrixDevice
from pytest_gpumatrix.verdict.reproduce import reproduce_command
from pytest_gpumatrix.verdict.series import NotCompared, Rules, Series, is_measured, series_of
from pytest_gpumatrix.verdict.verdict import MetricRow

DURATION = "duration"  # seconds; recorded of every test
_FEWEST_REPEATS = 3  # that say something of their scatter
_SIGMAS = 3
_MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a change must exceed."""

    threshold: float  # relative
    absolute: float = 0.0  # in the metric's unit


_OTHER = Limits(threshold=0.1)
DEFAULTS: Mapping[str, Limits] = {
    DURATION: Limits(threshold=0.5, absolute=1.0),
    "compile_time": Limits(threshold=0.5, absolute=1.0),
    "gpu_memory_peak": Limits(threshold=0.05),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricChanges:
    """The metrics that moved, and what could not be compared."""

    rows: tuple[MetricRow, ...] = ()
    notes: tuple[str, ...] = ()


def metric_changes(config: Config, head: Matrix, base: Matrix | None, tests: TestIndex) -> MetricChanges:
    """Hold the metrics of each device against the base's, where the same kind of GPU measured both.

    ``base`` has its tests under head's names; ``tests`` are those of head. Worse rows come first.
    """
    if base is None:
        return MetricChanges()
    rules, skipped = Rules(config, tests), NotCompared()
    red = FailOn.METRIC in config.fail_on
    before = {device.name: device for device in base.devices}
    rows: list[MetricRow] = []
    notes: list[str] = []
    for device in head.devices:
        then = before.get(device.name)
        if (
            then is not None
            and device.name == CPU
            and any(row[CPU].cell.metrics for row in head.cells.values() if CPU in row)
        ):
            notes.append("metrics of the cpu column are not compared: a machine without a GPU is no device")
        if then is None or device.name == CPU or {device.reported, then.reported} != {Evidence.NATIVE}:
            continue
        if device.gpu_names == then.gpu_names and len(device.gpu_names) == 1:
            rows.extend(_rows(device.name, head, base, rules, skipped, red=red))
        elif note := _other_hardware(device, then, head):
            notes.append(note)
    ordered = sorted(rows, key=lambda row: (not row.worse, row.test, row.device, row.name))
    return MetricChanges(rows=tuple(ordered), notes=(*notes, *skipped.notes()))


def _sigma(series: Series) -> float:
    if len(series.values) < _FEWEST_REPEATS:
        return 0.0
    median = series.median
    return _MAD_TO_SIGMA * statistics.median(abs(value - median) for value in series.values)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    """A metric in head and base, with what gpumatrix.yml says of it."""

    name: str
    head: Series
    base: Series
    limits: Limits
    better: str | None  # as the file says

    @property
    def problem(self) -> str:
        """Why the two cannot be compared, or ""."""
        head, base = self.head, self.base
        if head.problem or base.problem:
            return head.problem or f"in the baseline {base.problem}"
        if head.unit != base.unit:
            return f"its unit is {head.unit or 'none'}, in the baseline {base.unit or 'none'}"
        if self.better is None and head.better != base.better:
            return f"{head.better} is better, in the baseline {base.better}"
        if base.median == 0 and head.median != 0 and self.limits.absolute == 0:
            return "it is 0 in the baseline; say by `absolute` in gpumatrix.yml what counts"
        return ""

    @property
    def noise(self) -> float:
        """Of the repeats of the side that scatters more, in the metric's unit."""
        return _SIGMAS * max(_sigma(self.head), _sigma(self.base))

    @property
    def moved(self) -> bool:
        """Whether the change counts."""
        difference, level = self.head.median - self.base.median, abs(self.base.median)
        bounds = (self.limits.threshold * level, self.noise, self.limits.absolute)
        return all(exceeds(difference, bound) for bound in bounds)


def _rows(
    device: str, head: Matrix, base: Matrix, rules: Rules, skipped: NotCompared, *, red: bool
) -> Iterator[MetricRow]:
    for test, row in head.cells.items():
        now, then = row.get(device), base.cells.get(test, {}).get(device)
        if now is None or then is None or not (is_measured(now.cell) and is_measured(then.cell)):
            continue
        for pair in _pairs(test, now.cell, then.cell, rules):
            if problem := pair.problem:
                skipped.add(problem, pair.name, f"{test} on {device}", problem)
            elif pair.moved:
                yield _row(test, device, pair, red=red)


def _pairs(test: str, now: Cell, then: Cell, rules: Rules) -> Iterator[_Pair]:
    """The metrics that both sides have. A duration only if it differs enough to count: nearly none does."""
    own = series_of(now)
    before = series_of(then) if own else {}
    for name, series in own.items():
        if name in before:
            limits, better = _limits(rules, test, name)
            yield _Pair(name=name, head=series, base=before[name], limits=limits, better=better)
    if DURATION in own or now.duration <= 0 or then.duration <= 0:
        return
    limits, better = _limits(rules, test, DURATION)
    if abs(now.duration - then.duration) > limits.absolute:
        head, base = (Series(unit="s", better="lower", values=(cell.duration,)) for cell in (now, then))
        yield _Pair(name=DURATION, head=head, base=base, limits=limits, better=better)


def _limits(rules: Rules, test: str, name: str) -> tuple[Limits, str | None]:
    """What a change must exceed, and what the file says is better."""
    default = DEFAULTS.get(name, _OTHER)
    rule = rules.of(test, name)
    if rule is None:
        return default, None
    threshold = default.threshold if rule.threshold is None else rule.threshold
    absolute = default.absolute if rule.absolute is None else rule.absolute
    return Limits(threshold=threshold, absolute=absolute), rule.better


def _row(test: str, device: str, pair: _Pair, *, red: bool) -> MetricRow:
    better = pair.better or pair.head.better
    worse = (pair.head.median > pair.base.median) == (better == "lower")
    return MetricRow(
        test=test,
        device=device,
        name=pair.name,
        unit=pair.head.unit,
        better=better,
        base=pair.base.median,
        head=pair.head.median,
        base_repeats=len(pair.base.values),
        head_repeats=len(pair.head.values),
        threshold=pair.limits.threshold,
        noise=pair.noise / abs(pair.base.median) if pair.base.median else 0.0,
        worse=worse,
        red=red and worse,
        reproduce=reproduce_command(test, (device,)),
    )


def _other_hardware(head: MatrixDevice, base: MatrixDevice, matrix: Matrix) -> str | None:
    """Why the metrics of a device are not compared, if its tests measured any."""
    if not any(head.name in row and row[head.name].cell.metrics for row in matrix.cells.values()):
        return None
    here, there = (" and ".join(sorted(device.gpu_names)) or "a GPU that is not named" for device in (head, base))
    if here == there:
        return f"the metrics of {head.name} are not compared: they are of {here}"
    return f"the metrics of {head.name} are not compared: they are of {here}, the baseline's of {there}"
