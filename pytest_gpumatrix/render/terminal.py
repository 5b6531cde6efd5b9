"""A verdict for a terminal: it fits the width and any number of tests, and counts what it does not show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.render.command import command_lines
from pytest_gpumatrix.render.marks import MarkSet, colour_of, mark_set, words_for
from pytest_gpumatrix.render.rows import shown_tests
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
_NARROWEST = 40  # columns; a narrower terminal wraps by itself
_MARK = 3  # columns of a cell: two marks and a space
_MOST_ROWS = 25  # tests in the table
_MOST_LINES = 15  # entries in each list below it
_MOST_COMMAND_LINES = 8
_MOST_DETAIL_LINES = 3
_COLOURS = {Conclusion.OK: "32", Conclusion.REGRESSION: "31", Conclusion.INCOMPLETE: "33"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """How to write: columns, marks, and whether in colour."""

    columns: int
    marks: MarkSet
    colour: bool

    @classmethod
    def of(cls, *, width: int, colour: bool, encoding: str | None) -> Style:
        """The style for a stream."""
        return cls(columns=max(width, _NARROWEST), marks=mark_set(encoding), colour=colour)

    def paint(self, text: str, code: str | None) -> str:
        """The text in a colour, if asked for."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


def render_matrix(verdict: Verdict, *, width: int = 80, colour: bool = False, encoding: str | None = "utf-8") -> str:
    """The devices in numbers and the tests that differ, fail or changed: for the end of a pytest run."""
    return _text(_matrix(verdict, Style.of(width=width, colour=colour, encoding=encoding)), encoding)


def render_report(verdict: Verdict, *, width: int = 80, colour: bool = False, encoding: str | None = "utf-8") -> str:
    """The whole report: headline, matrix, red lines with their commands, and what else a reader must know."""
    style = Style.of(width=width, colour=colour, encoding=encoding)
    return _text(_report(verdict, style), encoding)


def _text(lines: Iterable[str], encoding: str | None) -> str:
    text = "\n".join(lines) + "\n"
    return text.encode(encoding or "ascii", "replace").decode(encoding or "ascii")


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
    """Tests by devices, the devices by name if the names fit, else by number; as many tables as they need."""
    names = [item.device.name for item in verdict.devices]
    labels = [clean(name) for name in names]
    if sum(max(width(label), 2) + 1 for label in labels) > style.columns // 2:
        labels = [str(number) for number in range(1, len(names) + 1)]
    sizes = [max(width(label) + 1, _MARK) for label in labels]
    per_table = max(1, (style.columns // 2) // max(sizes, default=1))
    for start in range(0, len(names), per_table):
        part = slice(start, start + per_table)
        room = style.columns - sum(sizes[part])
        cells = zip(labels[part], sizes[part], strict=True)
        yield (" " * room + "".join(" " + pad(label, size - 1) for label, size in cells)).rstrip()
        for test in tests:
            yield _table_row(test, names[part], sizes[part], room, verdict, style)


def _table_row(test: str, names: Sequence[str], sizes: Sequence[int], room: int, verdict: Verdict, style: Style) -> str:
    cells = [verdict.matrix.cell(test, name) for name in names]
    drawn = zip(cells, sizes, strict=True)
    row = "".join(f" {_drawn(cell, style)}{' ' * (size - 1 - _size(cell, style))}" for cell, size in drawn)
    return (pad(fit(clean(test), room, keep_end=True), room) + row).rstrip()


def _drawn(cell: Cell | None, style: Style) -> str:
    return style.paint(style.marks.mark(cell.outcome, cell.evidence), colour_of(cell)) if cell else ""


def _size(cell: Cell | None, style: Style) -> int:
    return len(style.marks.mark(cell.outcome, cell.evidence)) if cell else 0


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
        yield f"{cell.cause.category.value}: {clean(cell.cause.action)}"


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
