"""A verdict in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.verdict import ChangeRow, Conclusion, DeviceSummary, DriftRow, MetricRow, Verdict

_MOST_NAMES = 4
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_. /:-]{1,40}")  # of a metric, which the code under test chooses


def headline(verdict: Verdict) -> str:
    """The conclusion's word, then what decided it. No name of a test is in it."""
    parts: list[str] = []
    match verdict.conclusion:
        case Conclusion.REGRESSION:
            parts = [*_red(verdict), *_incomplete(verdict)]
        case Conclusion.INCOMPLETE:
            parts = _incomplete(verdict)
        case Conclusion.OK:
            parts = [_extent(verdict)]
    parts += _changes(row for row in verdict.changes if not row.red and row.change is not Change.UNKNOWN)
    parts += _metrics([row for row in verdict.metrics if row.worse and not row.red])
    parts += _drift([row for row in verdict.drift if not row.red])
    return f"{verdict.conclusion.value}: {'; '.join(parts)}"


def _extent(verdict: Verdict) -> str:
    """ "150 of 174 tests on h100 (compiled), 174 on rtx3090": how many have a result there, by which evidence."""
    every = len(verdict.matrix.cells)
    ran = [(item.results(), with_evidence(item)) for item in verdict.devices if item.results()]
    counts = sorted({count for count, _ in ran})
    if counts == [every]:
        return f"{counted(every, 'test')} on {_names([device for _, device in ran])}"
    if len(ran) > _MOST_NAMES:
        between = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
        return f"{between} of {counted(every, 'test')} on {len(ran)} devices"
    of = f" of {counted(every, 'test')}"
    parts = [f"{count:,}{of if place == 0 else ''} on {device}" for place, (count, device) in enumerate(ran)]
    return ", ".join(parts)


def with_evidence(summary: DeviceSummary) -> str:
    """ "rtx3090 (compiled)", "h100 (50 compiled)": a name alone stands for native results."""
    by_evidence = {evidence: count for evidence in Evidence if (count := summary.results(evidence))}
    if len(by_evidence) == 1:
        (only,) = by_evidence
        return summary.device.name + ("" if only is Evidence.NATIVE else f" ({only.value})")
    weaker = [f"{n:,} {evidence.value}" for evidence, n in by_evidence.items() if evidence is not Evidence.NATIVE]
    return f"{summary.device.name} ({', '.join(weaker)})"


def _red(verdict: Verdict) -> list[str]:
    parts = _changes(row for row in verdict.changes if row.red)
    parts += _metrics([row for row in verdict.metrics if row.red])
    parts += _drift([row for row in verdict.drift if row.red])
    if never := sum(row.red for row in verdict.never_run):
        parts.append(f"{counted(never, 'test')} never run")
    if stale := sum(row.red for row in verdict.stale):
        parts.append(counted(stale, "stale expectation"))
    return parts


def _incomplete(verdict: Verdict) -> list[str]:
    parts = []
    if verdict.refused:
        parts.append(f"{counted(len(verdict.refused), 'file')} refused")
    if verdict.base_refused:
        parts.append(f"{counted(len(verdict.base_refused), 'file')} of the baseline refused")
    if verdict.missing:
        parts.append(f"{_names([item.device for item in verdict.missing])} missing")
    if verdict.broken:
        parts.append(f"results of {_names(sorted(verdict.broken))} cut off or empty")
    unknown = [row for row in verdict.changes if row.change is Change.UNKNOWN]
    if quiet := sum(not row.red for row in unknown):
        parts.append(f"{counted(quiet, 'test')} unknown")
    if not verdict.has_results and not unknown:
        parts.append("no test has a result")
    return parts


def _changes(rows: Iterable[ChangeRow]) -> list[str]:
    """ "2 new-failure (Hopper only)": each change with its scope, if its rows share one."""
    scopes: dict[Change, list[str]] = {}
    for row in rows:
        scopes.setdefault(row.change, []).append(row.scope)
    return [
        f"{len(found)} {change.value}" + (f" ({found[0]})" if len(set(found)) == 1 else "")
        for change, found in sorted(scopes.items(), key=lambda item: list(Change).index(item[0]))
    ]


def _metrics(rows: Sequence[MetricRow]) -> list[str]:
    """ "2 metrics worse (h100)"."""
    devices = sorted({row.device for row in rows})
    return [f"{counted(len(rows), 'metric')} worse ({_names(devices)})"] if rows else []


def _drift(rows: Sequence[DriftRow]) -> list[str]:
    """ "numeric drift: loss (rtx3090)"."""
    if not rows:
        return []
    names = {row.name for row in rows}
    devices = sorted({device for row in rows for device in row.apart})
    (only,) = names if len(names) == 1 else ("",)
    what = only if _PLAIN_NAME.fullmatch(only) else counted(len(names), "metric")
    return [f"numeric drift: {what} ({_names(devices)})"]


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} devices"


def counted(number: int, noun: str) -> str:
    """ "1 test", "1,200 tests"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
