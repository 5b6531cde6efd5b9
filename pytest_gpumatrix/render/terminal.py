"""A verdict for a terminal: it fits the width and any number of tests, and counts what it does not show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.render import terminal_lines as lines
from pytest_gpumatrix.render.answer import QUESTION, answer
from pytest_gpumatrix.render.asides import asides
from pytest_gpumatrix.render.flaky import flaky_rows
from pytest_gpumatrix.render.grid import Drawn, GridRow, grid_lines
from pytest_gpumatrix.render.marks import colour_of, legend
from pytest_gpumatrix.render.rows import shown_tests
from pytest_gpumatrix.render.slow import slow_rows
from pytest_gpumatrix.render.style import Style
from pytest_gpumatrix.render.text import clean, width, wrap, wrap_words
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import ChangeRow, Conclusion, Verdict

_Row = TypeVar("_Row")
_MOST_ROWS = 25  # tests in the table
_MOST_LINES = 15  # entries in each list below it
_COLOURS = {Conclusion.OK: "32", Conclusion.REGRESSION: lines.RED, Conclusion.INCOMPLETE: lines.YELLOW}


def render_matrix(verdict: Verdict, *, width: int = 80, colour: bool = False, encoding: str | None = "utf-8") -> str:
    """The devices in numbers and the tests that differ, fail or changed: for the end of a pytest run."""
    style = Style.of(width=width, colour=colour, encoding=encoding)
    return style.text(_matrix(verdict, style))


def render_report(verdict: Verdict, *, width: int = 80, colour: bool = False, encoding: str | None = "utf-8") -> str:
    """The whole report: headline, matrix, red lines with their commands, and what else a reader must know."""
    style = Style.of(width=width, colour=colour, encoding=encoding)
    return style.text(_report(verdict, style))


def _report(verdict: Verdict, style: Style) -> Iterator[str]:
    for line in wrap(clean(headline(verdict)), style.columns, hanging="  "):
        yield style.paint(line, _COLOURS[verdict.conclusion])
    yield from wrap(_answer(verdict), style.columns, hanging="  ")
    yield ""
    yield from _matrix(verdict, style)
    yield from _red(verdict, style)
    never = [row for row in verdict.never_run if row.red]
    yield from _section("Never run", never, lines.never_run_lines, style)
    idle = [row for row in verdict.never_run if not row.red]
    yield from _section("Never run, not red", idle, lines.never_run_lines, style)
    yield from _section("Contradictory results", verdict.contradictions, lines.contradiction_lines, style)
    yield from _section("Metrics", [row for row in verdict.metrics if not row.red], lines.metric_lines, style)
    yield from _section("Numeric drift", [row for row in verdict.drift if not row.red], lines.drift_lines, style)
    quiet = [row for row in verdict.changes if not row.red]
    yield from _section("Changed, not red", quiet, lines.quiet_lines, style)
    yield from _section("Flaky", flaky_rows(verdict), lines.flaky_lines, style)
    facts = list(_facts(verdict))
    if facts:
        yield ""
    for fact in facts:
        yield from wrap(clean(fact), style.columns, hanging="  ")


def _answer(verdict: Verdict) -> str:
    found = answer(verdict)
    return f"{QUESTION} {found.word}: {found.before}{', '.join(map(clean, found.devices))}{found.after}"


def _red(verdict: Verdict, style: Style) -> Iterator[str]:
    def change_lines(row: ChangeRow, style: Style) -> Iterator[str]:
        return lines.change_lines(row, verdict, style)

    yield from _section("Red", [row for row in verdict.changes if row.red], change_lines, style)
    yield from _section("Red metrics", [row for row in verdict.metrics if row.red], lines.metric_lines, style)
    yield from _section("Red numeric drift", [row for row in verdict.drift if row.red], lines.drift_lines, style)


def _matrix(verdict: Verdict, style: Style) -> Iterator[str]:
    names = max((width(clean(item.device.name)) for item in verdict.devices), default=0)
    for number, summary in enumerate(verdict.devices, start=1):
        yield from lines.device_lines(number, summary, min(names, 20), style)
    shown = shown_tests(verdict, _MOST_ROWS)
    if shown.tests:
        yield ""
        yield from _table(shown.tests, verdict, style)
    if shown.more:
        yield from wrap(f"... and {shown.more:,} more differ, fail or changed", style.columns)
    if shown.alike and shown.tests:
        yield f"{shown.alike:,} more alike on every device"
    if shown.elsewhere and shown.tests:
        yield from wrap(f"{shown.elsewhere:,} more alike where they have a result: some device has none", style.columns)
    yield from _legend(verdict, style)
    yield from _section("Slow", slow_rows(verdict.matrix), lines.slow_lines, style)


def _table(tests: Sequence[str], verdict: Verdict, style: Style) -> Iterator[str]:
    """Tests by devices."""
    names = [item.device.name for item in verdict.devices]
    rows = [
        GridRow(label=clean(test), cells=[_drawn(verdict.matrix.cell(test, name), style) for name in names])
        for test in tests
    ]
    yield from grid_lines([clean(name) for name in names], rows, style)


def _drawn(cell: Cell | None, style: Style) -> Drawn | None:
    return Drawn(mark=style.marks.of(cell), colour=colour_of(cell)) if cell else None


def _legend(verdict: Verdict, style: Style) -> list[str]:
    cells = (resolved.cell for row in verdict.matrix.cells.values() for resolved in row.values())
    entries = legend(cells, style.marks)
    return wrap_words(entries, style.columns, hanging="  ", gap="  ") if entries else []


def _section(
    title: str, rows: Sequence[_Row], lines_of: Callable[[_Row, Style], Iterable[str]], style: Style
) -> Iterator[str]:
    """A bounded list under its title; nothing if there are no rows."""
    if not rows:
        return
    yield ""
    yield f"{title}:"
    for row in rows[:_MOST_LINES]:
        yield from lines_of(row, style)
    if len(rows) > _MOST_LINES:
        yield f"... and {len(rows) - _MOST_LINES:,} more"


def _facts(verdict: Verdict) -> Iterator[str]:
    """What is neither a cell nor a change."""
    for item in verdict.missing:
        yield f"missing: {item.device}: {item.reason}"
    refused = [f"refused: {name}: {reason}" for name, reason in sorted(verdict.refused.items())]
    refused += [f"refused of the baseline: {name}: {reason}" for name, reason in sorted(verdict.base_refused.items())]
    yield from refused[:_MOST_LINES]
    if len(refused) > _MOST_LINES:
        yield f"... and {len(refused) - _MOST_LINES:,} more refused files"
    for name, reason in verdict.broken.items():
        yield f"not read: {name}: {reason}"
    for row in verdict.stale[:_MOST_LINES]:
        stale = row.expectation
        yield f"stale-expectation: {stale.place}: {stale.test.text} on {stale.devices.text}: {row.reason}"
    if len(verdict.stale) > _MOST_LINES:
        yield f"... and {len(verdict.stale) - _MOST_LINES:,} more stale expectations"
    yield from asides(verdict)
    yield from verdict.notes
