"""A verdict in one line."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.verdict import ChangeRow, Conclusion, DeviceSummary, Verdict

_MOST_NAMES = 4


def headline(verdict: Verdict) -> str:
    """The conclusion's word, then what decided it. No name of a test is in it."""
    parts: list[str] = []
    match verdict.conclusion:
        case Conclusion.REGRESSION:
            parts = [*_red(verdict), *_incomplete(verdict)]
        case Conclusion.INCOMPLETE:
            parts = _incomplete(verdict)
        case Conclusion.OK:
            ran = [_with_evidence(summary) for summary in verdict.devices if summary.counts]
            parts = [f"{_count(len(verdict.matrix.cells), 'test')} on {_names(ran)}"]
    parts += _changes(row for row in verdict.changes if not row.red and row.change is not Change.UNKNOWN)
    return f"{verdict.conclusion.value}: {'; '.join(parts)}"


def _with_evidence(summary: DeviceSummary) -> str:
    """ "rtx3090 (compiled)": a name alone stands for native results."""
    evidence = summary.device.reported
    return summary.device.name + ("" if evidence is Evidence.NATIVE else f" ({evidence.value})")


def _red(verdict: Verdict) -> list[str]:
    parts = _changes(row for row in verdict.changes if row.red)
    if never := sum(row.red for row in verdict.never_run):
        parts.append(f"{_count(never, 'test')} never run")
    if stale := sum(row.red for row in verdict.stale):
        parts.append(_count(stale, "stale expectation"))
    return parts


def _incomplete(verdict: Verdict) -> list[str]:
    parts = []
    if verdict.missing:
        parts.append(f"{_names([item.device for item in verdict.missing])} missing")
    if verdict.broken:
        parts.append(f"results of {_names(sorted(verdict.broken))} cut off or empty")
    if unknown := sum(row.change is Change.UNKNOWN and not row.red for row in verdict.changes):
        parts.append(f"{_count(unknown, 'test')} unknown")
    if not verdict.matrix.cells:
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


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} devices"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
