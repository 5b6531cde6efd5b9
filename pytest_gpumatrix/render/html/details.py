"""What a cell of the page has to tell when it is opened."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.cell_history import CellHistory, PastResult, TrendPoint
from pytest_gpumatrix.record.outcome import Standing
from pytest_gpumatrix.render.html.room import Room, Table, figure
from pytest_gpumatrix.render.marks import UNICODE, words_for
from pytest_gpumatrix.render.moved import drift_words, noise_words
from pytest_gpumatrix.render.text import clean, clean_lines
from pytest_gpumatrix.triage.cause import Cause
from pytest_gpumatrix.verdict.reproduce import reproduce_command
from pytest_gpumatrix.verdict.verdict import ChangedCell, ChangeRow, MetricRow, Verdict

_LONGEST_MESSAGE = 2_000  # characters
_LONGEST_DETAILS = 8_000
_LONGEST_COMMAND = 4_000
_LONGEST_TEXT = 500
_CAUSE_TEXTS = ("advice", "rule", "evidence", "reason", "note")
_MOST = 20  # metrics, weaker cells, slow launches
_MOST_PAST = 60  # results and points of a trend: the newest


@dataclass(frozen=True, kw_only=True, slots=True)
class Tables:
    """What many cells share. Index 0 of both is nothing."""

    strings: Table
    causes: Table

    @classmethod
    def within(cls, room: Room) -> Tables:
        """Empty tables that take their room from what is left."""
        tables = cls(strings=Table(room), causes=Table(room))
        tables.strings.index("")
        tables.causes.index(None)
        return tables

    def line(self, text: str) -> int:
        """A text as one line."""
        return self.strings.index(clean(cut(text, _LONGEST_TEXT))) if text else 0

    def lines(self, text: str, longest: int) -> int:
        """A text of many lines."""
        return self.strings.index(clean_lines(text, longest=longest)) if text else 0


class Details:
    """Looks up all that a verdict says of a cell."""

    def __init__(self, verdict: Verdict, tables: Tables) -> None:
        self._verdict = verdict
        self._tables = tables
        self._changes = {(row.test, name): row for row in verdict.changes for name in row.devices}
        self._expected = {(row.test, row.device): row.expectation for row in verdict.expected}
        self._never = {row.test: row for row in verdict.never_run}
        self._metrics: dict[tuple[str, str], dict[str, MetricRow]] = {}
        for row in verdict.metrics:
            self._metrics.setdefault((row.test, row.device), {})[row.name] = row
        self._drift = {(row.test, name): row for row in verdict.drift for name in row.apart}
        self._apart = {(item.test, item.device): item for item in verdict.contradictions}

    def of(self, test: str, device: str) -> dict[str, Any]:
        """By name, only what there is to tell. Texts and causes are indices of their tables; may raise Full."""
        row = self._changes.get((test, device))
        part = row.devices[device] if row else ChangedCell(cell=None, before=None)
        resolved = self._verdict.matrix.cells.get(test, {}).get(device)
        cell = resolved.cell if resolved else part.cell
        if row is None and (cell is None or self._quiet(cell, device)) and not (resolved and resolved.lost):
            return {}
        found = {
            **(self._cell(cell) if cell else {}),
            "command": self._command(test, device, row, cell),
            "note": self._tables.line(part.note),
            "renamed": self._tables.line(row.renamed_from or "") if row else None,
            "before": self._brief(part.before) if part.before else None,
            "weaker": [self._brief(lost) for lost in resolved.lost[:_MOST]] if resolved else None,
            "expected": self._expectation(test, device),
            "metrics": self._measured(test, device, cell, part.before),
            "drift": self._drifted(test, device),
            "history": self._history(self._verdict.history.get(test, {}).get(device)),
            "contradiction": self._contradiction(test, device),
        }
        return {name: value for name, value in found.items() if value}

    def _quiet(self, cell: Cell, device: str) -> bool:
        """Whether an unchanged cell has nothing to tell but what its kind says: most do not."""
        own = cell.message or cell.details or cell.cause or cell.slow or cell.reruns or cell.metrics
        key = (cell.test, device)
        moved = key in self._metrics or key in self._drift
        told = (
            moved or key in self._expected or key in self._apart or device in self._verdict.history.get(cell.test, {})
        )
        return not own and not told and cell.standing is not Standing.BAD and cell.test not in self._never

    def _cell(self, cell: Cell) -> dict[str, Any]:
        return {
            "message": self._tables.lines(cell.message, _LONGEST_MESSAGE),
            "details": self._tables.lines(cell.details, _LONGEST_DETAILS),
            "cause": self._cause(cell.cause) if cell.cause else None,
            "slow": [self._tables.line(finding) for finding in cell.slow[:_MOST]],
            "reruns": cell.reruns,
            "requires": self._tables.line(cell.requirement or ""),
            "place": self._tables.line(_place(cell.place)) if cell.place else 0,
        }

    def _cause(self, cause: Cause) -> int:
        return self._tables.causes.index(cause, lambda: _told(cause))

    def _brief(self, cell: Cell) -> list[Any]:
        return [UNICODE.of(cell), words_for(cell.outcome, cell.evidence), self._tables.line(cell.message)]

    def _command(self, test: str, device: str, row: ChangeRow | None, cell: Cell | None) -> int:
        """Of a cell that someone may want to see for themselves."""
        moved = next((row for row in self._metrics.get((test, device), {}).values() if row.red), None)
        rows = (row, self._never.get(test), moved, self._drift.get((test, device)))
        words: Sequence[str] = next((found.reproduce for found in rows if found and found.reproduce), ())
        if not words and cell is not None and cell.standing in (Standing.BAD, Standing.UNKNOWN):
            words = reproduce_command(test, (device,))
        command = " ".join(words)
        if len(command) > _LONGEST_COMMAND:
            return self._tables.strings.index("# too long to show: the JSON report has it")
        return self._tables.strings.index(command)

    def _expectation(self, test: str, device: str) -> int | None:
        expectation = self._expected.get((test, device))
        if expectation is None:
            return None
        return self._tables.line(f"{expectation.place}: {expectation.reason}".removesuffix(": "))

    def _drifted(self, test: str, device: str) -> int:
        row = self._drift.get((test, device))
        return self._tables.line(f"{row.name}: {drift_words(row)}") if row else 0

    def _contradiction(self, test: str, device: str) -> list[Any]:
        found = self._apart.get((test, device))
        results = found.results[:_MOST] if found else ()
        return [[self._tables.line(file), outcome.value] for file, outcome in results]

    def _measured(self, test: str, device: str, cell: Cell | None, before: Cell | None) -> list[Any]:
        """Of each metric: name, unit, head, base or null, "red", "worse" or "better" where it moved, and the noise."""
        rows = self._metrics.get((test, device), {})
        head, base = _medians(cell.metrics if cell else ()), _medians(before.metrics if before else ())
        found: list[Any] = []
        for name in list(dict.fromkeys([*rows, *head]))[:_MOST]:
            row = rows.get(name)
            metric = Metric(name=name, value=row.head, unit=row.unit, better=row.better) if row else head[name]
            old = row.base if row else base[name].value if name in base else None
            moved = ("red" if row.red else "worse" if row.worse else "better") if row else ""
            values = [figure(metric.value), None if old is None else figure(old)]
            noise = self._tables.line(noise_words(row)) if row else 0
            found.append([self._tables.line(name), self._tables.line(metric.unit), *values, moved, noise])
        return found

    def _history(self, history: CellHistory | None) -> dict[str, Any] | None:
        if history is None:
            return None
        newest = history.results[-_MOST_PAST:]
        return {
            "since": self._past(history.failing_since) if history.failing_since else None,
            "flakes": history.flakes,
            "of": len(history.results),
            "rate": f"{history.flake_rate:.1%}",
            "results": [self._past(result) for result in newest],
            "trends": self._trends(history.trends),
        }

    def _trends(self, trends: Mapping[str, Sequence[TrendPoint]]) -> list[list[Any]]:
        """[metric, its newest values, oldest first]."""
        named = [(name, points[-_MOST_PAST:]) for name, points in sorted(trends.items())[:_MOST] if points]
        return [[self._tables.line(name), [figure(point.value) for point in points]] for name, points in named]

    def _past(self, result: PastResult) -> list[Any]:
        """Commit, time, outcome, reruns."""
        return [self._tables.line(result.commit[:12]), figure(result.time), result.outcome.value, result.reruns]


def _told(cause: Cause) -> dict[str, Any]:
    return {
        "category": cause.category.value,
        "action": cause.action.value,
        "confidence": cause.confidence.value,
        "infra": cause.infra,
        **{name: clean(cut(str(getattr(cause, name)), _LONGEST_TEXT)) for name in _CAUSE_TEXTS},
    }


def _medians(metrics: Sequence[Metric]) -> dict[str, Metric]:
    repeats: dict[str, list[Metric]] = {}
    for metric in metrics:
        repeats.setdefault(metric.name, []).append(metric)
    return {
        name: Metric(
            name=name,
            value=statistics.median(metric.value for metric in own),
            unit=own[0].unit,
            better=own[0].better,
        )
        for name, own in repeats.items()
    }


def _place(place: Place) -> str:
    return place.file if place.line is None else f"{place.file}:{place.line}"


def cut(text: str, longest: int) -> str:
    """The text, or so many characters of it and an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest]}…"
