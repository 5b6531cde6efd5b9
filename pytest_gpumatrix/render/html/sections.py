"""What the page tells beside the matrix: what is red, what is not known, and tables of what is not a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.render.flaky import FlakyRow, flaky_rows
from pytest_gpumatrix.render.html.grid import shown_name
from pytest_gpumatrix.render.html.room import Full, Room
from pytest_gpumatrix.render.moved import drift_words, metric_words
from pytest_gpumatrix.render.slow import SlowRow, slow_rows
from pytest_gpumatrix.render.text import clean
from pytest_gpumatrix.verdict.verdict import (
    ChangeRow,
    DriftRow,
    ExpectedRow,
    MetricRow,
    NeverRunRow,
    StaleRow,
    Verdict,
)

_Row = TypeVar("_Row")
_MOST_BLOCKS = 20  # of what is red
_MOST_ROWS = 300  # of a table
_MOST_NAMES = 12  # devices in a sentence
_LONGEST = 500


class Sections:
    """Tables of a verdict, as far as there is room; a name of a test that the matrix shows is a link to its row."""

    def __init__(self, verdict: Verdict, rows: Mapping[str, int], room: Room) -> None:
        self._verdict = verdict
        self._rows = rows
        self._room = room
        self._columns = {item.device.name: number for number, item in enumerate(verdict.devices)}

    def red(self) -> dict[str, Any]:
        """What is red: changes that share their kind, scope and cause are one block."""
        together: dict[tuple[object, ...], list[ChangeRow]] = {}
        for row in self._verdict.changes:
            if row.red:
                cause = next((part.cell.cause for part in row.devices.values() if part.cell and part.cell.cause), None)
                key = (row.change, row.scope, cause and (cause.category, cause.action))
                together.setdefault(key, []).append(row)
        blocks = list(together.values())
        return self._bounded([self._block(rows) for rows in blocks[:_MOST_BLOCKS]], len(blocks))

    def notices(self) -> dict[str, Any]:
        """What keeps the verdict from knowing, as ``notices_of`` tells it."""
        lines = notices_of(self._verdict)
        return self._bounded(lines[:_MOST_ROWS], len(lines))

    def tables(self) -> list[dict[str, Any]]:
        """What may be unfolded."""
        found = self._verdict
        every: list[tuple[str, list[str], list[Any], bool]] = [
            ("Never run", ["test", "why"], *self._made(found.never_run, self._never_run)),
            ("Metrics", ["test", "device", "metric", "change"], *self._made(found.metrics, self._metric)),
            ("Numeric drift", ["test", "metric", "values"], *self._made(found.drift, self._drift)),
            ("Flaky tests", ["test", "device", "how often"], *self._made(flaky_rows(found), self._flaky)),
            ("Contradictions", ["test", "device", "files"], *self._made(found.contradictions, self._contradiction)),
            ("Renamed tests", ["test", "name in the base"], self._renamed(), False),
            ("Stale expectations", ["where", "test", "devices", "why"], *self._made(found.stale, self._stale)),
            (
                "Excused by gpumatrix.yml",
                ["test", "device", "expectation"],
                *self._made(found.expected, self._expected),
            ),
            ("Slow there", ["kernel", "devices", "in"], *self._made(slow_rows(found.matrix), self._slow)),
        ]
        return [self._table(title, heads, rows, open=unfold) for title, heads, rows, unfold in every if rows]

    def _made(self, rows: Sequence[_Row], make: Callable[[_Row], list[Any]]) -> tuple[list[Any], bool]:
        """The rows for the page, and whether one is red, so that its table stands open."""
        return [make(row) for row in rows], any(getattr(row, "red", False) for row in rows)

    def _table(self, title: str, heads: list[str], rows: list[Any], *, open: bool) -> dict[str, Any]:  # noqa: A002 - as in HTML
        return {"title": title, "open": open, "heads": heads, **self._bounded(rows[:_MOST_ROWS], len(rows))}

    def _bounded(self, rows: Iterable[Any], total: int) -> dict[str, Any]:
        kept = []
        for row in rows:
            try:
                self._room.take(row)
            except Full:
                break
            kept.append(row)
        return {"rows": kept, "total": total}

    def _block(self, rows: Sequence[ChangeRow]) -> dict[str, Any]:
        first = rows[0]
        cells = [part.cell for part in first.devices.values() if part.cell]
        cell = next((cell for cell in cells if cell.cause), cells[0] if cells else None)
        cause = cell.cause if cell else None
        return {
            "change": first.change.value,
            "scope": _text(first.scope),
            "tests": len(rows),
            "devices": _names({name: None for row in rows for name in row.devices}),
            "cause": cause.category.value if cause else "",
            "action": cause.action.value if cause else "",
            "confidence": cause.confidence.value if cause else "",
            "advice": _text(cause.advice) if cause else "",
            "message": _text(cell.message) if cell else "",
            "first": self._test(first.test, next(iter(first.devices), "")),
        }

    def _test(self, test: str, device: str = "") -> dict[str, Any]:
        """A link to a cell, or to a row where the device is empty; text alone where the matrix has it not."""
        found: dict[str, Any] = {"text": shown_name(test)}
        if test in self._rows:
            found |= {"row": self._rows[test], "device": self._columns.get(device, -1)}
        return found

    def _never_run(self, row: NeverRunRow) -> list[Any]:
        why = "; ".join(f"{clean(name)}: {cell.outcome.value}" for name, cell in sorted(row.why.items())[:_MOST_NAMES])
        return [self._test(row.test), why]

    def _metric(self, row: MetricRow) -> list[Any]:
        return [self._test(row.test, row.device), clean(row.device), _text(row.name), _text(metric_words(row))]

    def _drift(self, row: DriftRow) -> list[Any]:
        return [self._test(row.test), _text(row.name), _text(drift_words(row))]

    def _flaky(self, row: FlakyRow) -> list[Any]:
        return [self._test(row.test, row.device), clean(row.device), row.rate]

    def _contradiction(self, row: Contradiction) -> list[Any]:
        said = "; ".join(f"{_text(file)} says {outcome.value}" for file, outcome in row.results[:_MOST_NAMES])
        return [self._test(row.test, row.device), clean(row.device), said]

    def _renamed(self) -> list[list[Any]]:
        return [[self._test(r.test), _text(r.renamed_from)] for r in self._verdict.changes if r.renamed_from]

    def _stale(self, row: StaleRow) -> list[Any]:
        item = row.expectation
        return [_text(item.place), _text(item.test.text), _text(item.devices.text), _text(row.reason)]

    def _expected(self, row: ExpectedRow) -> list[Any]:
        why = f"{row.expectation.place}: {row.expectation.reason}".removesuffix(": ")
        return [self._test(row.test, row.device), clean(row.device), _text(why)]

    def _slow(self, row: SlowRow) -> list[Any]:
        where = "; ".join(
            f"{clean(name)} ({f'{clean(on.figure)}, ' if on.figure else ''}tests: {len(on.tests):,})"
            for name, on in list(row.devices.items())[:_MOST_NAMES]
        )
        return [_text(row.finding), where, self._test(row.tests[0], next(iter(row.devices)))]


def notices_of(verdict: Verdict) -> list[list[str]]:
    """What keeps a verdict from knowing, the gravest first: [kind, what, why]."""
    lines = [["missing", clean(item.device), _text(item.reason)] for item in verdict.missing]
    lines += [["refused", _text(name), _text(why)] for name, why in sorted(verdict.refused.items())]
    base = sorted(verdict.base_refused.items())
    lines += [["refused", _text(name), _text(f"of the baseline: {why}")] for name, why in base]
    lines += [["not read", _text(name), _text(why)] for name, why in verdict.broken.items()]
    return [*lines, *(["note", "", _text(note)] for note in verdict.notes)]


def _names(names: Iterable[str]) -> str:
    every = [clean(name) for name in names]
    more = f" and {len(every) - _MOST_NAMES:,} more" if len(every) > _MOST_NAMES else ""
    return ", ".join(every[:_MOST_NAMES]) + more


def _text(text: str) -> str:
    return clean(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
