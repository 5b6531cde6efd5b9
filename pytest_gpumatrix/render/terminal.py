"""A verdict for a terminal: it fits the width and any number of tests, and counts what it does not show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.render.command import command_lines
from pytest_gpumatrix.render.grid import Drawn, GridRow, grid_lines
from pytest_gpumatrix.render.marks import colour_of, legend, words_for
from pytest_gpumatrix.render.rows import shown_tests
from pytest_gpumatrix.render.slow import SlowOn, SlowRow, slow_rows
from pytest_gpumatrix.render.style import Style
from pytest_gpumatrix.render.text import clean, fit, pad, width, wrap, wrap_words
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import (
    ChangedCell,
    ChangeRow,
    Conclusion,
    DeviceSummary,
    NeverRunRow,
    Verdict,
)

_Row = TypeVar("_Row")
_MOST_ROWS = 25  # tests in the table
_MOST_LINES = 15  # entries in each list below it
_MOST_COMMAND_LINES = 8
_MOST_DETAIL_LINES = 3
_COLOURS = {Conclusion.OK: "32", Conclusion.REGRESSION: "31", Conclusion.INCOMPLETE: "33"}


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
    yield ""
    yield from _matrix(verdict, style)
    yield from _section("Red", [row for row in verdict.changes if row.red], _change_lines, style)
    yield from _section("Never run", [row for row in verdict.never_run if row.red], _never_run_lines, style)
    idle = [row for row in verdict.never_run if not row.red]
    yield from _section("Never run, not red", idle, _idle_lines, style)
    quiet = [row for row in verdict.changes if not row.red]
    yield from _section("Changed, not red", quiet, _quiet_lines, style)
    facts = list(_facts(verdict))
    if facts:
        yield ""
    for fact in facts:
        yield from wrap(clean(fact), style.columns, hanging="  ")


def _matrix(verdict: Verdict, style: Style) -> Iterator[str]:
    names = max((width(clean(item.device.name)) for item in verdict.devices), default=0)
    for number, summary in enumerate(verdict.devices, start=1):
        yield from _device_lines(number, summary, min(names, 20), style)
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
    yield from _section("Slow", slow_rows(verdict.matrix), _slow_lines, style)


def _device_lines(number: int, summary: DeviceSummary, names: int, style: Style) -> Iterator[str]:
    device = summary.device
    counts = [
        f"{style.marks.mark(outcome, evidence)} {count:,} {words_for(outcome, evidence)}"
        for outcome in Outcome
        for evidence in Evidence
        if (count := summary.counts.get(evidence, {}).get(outcome))
    ]
    capability = str(device.capability) if device.capability else ""
    head = f"{number:>2} {pad(clean(device.name), names)}  {capability:<4} {device.reported.value:<8}  "
    yield from wrap_words(counts or ["no results"], style.columns, indent=head, hanging=" " * 6, gap="  ")
    if summary.missing:
        missing = wrap(f"missing: {clean(summary.missing)}", style.columns, indent=" " * 6, hanging=" " * 6)
        yield from (style.paint(line, _COLOURS[Conclusion.INCOMPLETE]) for line in missing)


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


def _slow_lines(row: SlowRow, style: Style) -> Iterator[str]:
    where = ", ".join(f"{clean(device)} ({_slow_on(on)})" for device, on in row.devices.items())
    yield from wrap(clean(row.finding), style.columns, hanging="  ")
    yield from wrap(f"on {where}", style.columns, indent="  ", hanging="    ")
    more = f" and {len(row.tests) - 1:,} more" if len(row.tests) > 1 else ""
    yield f"  in {fit(clean(row.tests[0]), style.columns - 5 - len(more), keep_end=True)}{more}"


def _slow_on(on: SlowOn) -> str:
    tests = f"{len(on.tests):,} {'test' if len(on.tests) == 1 else 'tests'}"
    return f"{clean(on.figure)}, {tests}" if on.figure else tests


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


def _change_lines(row: ChangeRow, style: Style) -> Iterator[str]:
    title = wrap(f"{row.change.value}, {clean(row.scope)}", style.columns, indent="  ", hanging="  ")
    yield style.paint(fit(clean(row.test), style.columns, keep_end=True), _COLOURS[Conclusion.REGRESSION])
    yield from title
    for device, part in list(row.devices.items())[:_MOST_LINES]:
        for line in _why(device, part):
            yield from _detail(line, style)
    yield from _reproduce(row.reproduce, style)


def _why(device: str, part: ChangedCell) -> Iterator[str]:
    if part.cell is None:
        yield f"{clean(device)}: absent"
        return
    cell = part.cell
    message = f": {clean(cell.message)}" if cell.message else ""
    yield f"{clean(device)}: {cell.outcome.value} ({cell.evidence.value}){message}"
    if part.note:
        yield clean(part.note)
    if cell.cause:
        yield f"{cell.cause.category.value}: {clean(cell.cause.advice)}"


def _detail(text: str, style: Style) -> list[str]:
    """A text below its test, in a few lines at most."""
    lines = wrap(text, style.columns, indent="  ", hanging="    ")
    if len(lines) <= _MOST_DETAIL_LINES:
        return lines
    return [*lines[: _MOST_DETAIL_LINES - 1], fit(f"{lines[_MOST_DETAIL_LINES - 1]} …", style.columns)]


def _never_run_lines(row: NeverRunRow, style: Style) -> Iterator[str]:
    yield fit(clean(row.test), style.columns, keep_end=True)
    for device, cell in sorted(row.why.items())[:_MOST_LINES]:
        reason = f": {clean(cell.message)}" if cell.message else ""
        yield from _detail(f"{clean(device)}: {cell.outcome.value}{reason}", style)
    yield from _reproduce(row.reproduce, style)


def _idle_lines(row: NeverRunRow, style: Style) -> Iterator[str]:
    yield fit(clean(row.test), style.columns, keep_end=True)


def _quiet_lines(row: ChangeRow, style: Style) -> Iterator[str]:
    label = f"{row.change.value} ({clean(row.scope)})"
    short = fit(label, style.columns // 2)
    yield f"{short} {fit(clean(row.test), style.columns - width(short) - 1, keep_end=True)}"


def _reproduce(words: Sequence[str], style: Style) -> Iterator[str]:
    lines = command_lines(words, style.columns)
    if len(lines) > _MOST_COMMAND_LINES:
        yield fit("  (the command is too long to show: --format json has it)", style.columns)
    elif len(lines) == 1 and width(lines[0]) + 2 <= style.columns:
        yield f"  {lines[0]}"
    else:
        yield from lines


def _facts(verdict: Verdict) -> Iterator[str]:
    """What is neither a cell nor a change."""
    for item in verdict.missing:
        yield f"missing: {item.device}: {item.reason}"
    for name, reason in verdict.broken.items():
        yield f"not read: {name}: {reason}"
    for row in verdict.stale[:_MOST_LINES]:
        stale = row.expectation
        yield f"stale-expectation: {stale.place}: {stale.test.text} on {stale.devices.text}: {row.reason}"
    if len(verdict.stale) > _MOST_LINES:
        yield f"... and {len(verdict.stale) - _MOST_LINES:,} more stale expectations"
    if verdict.expected:
        yield f"{len(verdict.expected):,} cells failed as gpumatrix.yml expects"
    if verdict.never_run_natively:
        yield f"{verdict.never_run_natively:,} of {len(verdict.matrix.cells):,} tests never ran natively"
    yield from verdict.notes
