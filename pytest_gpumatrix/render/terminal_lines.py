"""One row of a verdict as lines for a terminal, each in its width. Every foreign text is cleaned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.render.command import command_lines
from pytest_gpumatrix.render.flaky import FlakyRow, history_words
from pytest_gpumatrix.render.marks import words_for
from pytest_gpumatrix.render.moved import drift_words, metric_words
from pytest_gpumatrix.render.slow import SlowOn, SlowRow
from pytest_gpumatrix.render.style import Style
from pytest_gpumatrix.render.text import clean, fit, pad, width, wrap, wrap_words
from pytest_gpumatrix.triage.cause import Cause
from pytest_gpumatrix.verdict.verdict import (
    ChangedCell,
    ChangeRow,
    DeviceSummary,
    DriftRow,
    MetricRow,
    NeverRunRow,
    Verdict,
)

RED, YELLOW = "31", "33"
MOST_DEVICES = 15  # of one row
_MOST_COMMAND_LINES = 8
_MOST_DETAIL_LINES = 3


def device_lines(number: int, summary: DeviceSummary, names: int, style: Style) -> Iterator[str]:
    """A device's column in numbers; ``names`` is how many columns its name has."""
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
        yield from (style.paint(line, YELLOW) for line in missing)


def change_lines(row: ChangeRow, verdict: Verdict, style: Style) -> Iterator[str]:
    """A red change: where, why, since when, and the command that reproduces it."""
    yield _test(row.test, style, colour=RED)
    yield from wrap(f"{row.change.value}, {clean(row.scope)}", style.columns, indent="  ", hanging="  ")
    if row.renamed_from:
        yield from _detail(f"in the base: {clean(row.renamed_from)}", style)
    for device, part in list(row.devices.items())[:MOST_DEVICES]:
        for line in _why(device, part):
            yield from _detail(line, style)
        if words := history_words(verdict.history.get(row.test, {}).get(device)):
            yield from _detail(clean(words), style)
    yield from _reproduce(row.reproduce, style)


def quiet_lines(row: ChangeRow, style: Style) -> Iterator[str]:
    """A change that is not red, in one line; and the test's name in the base, where that is another."""
    short = fit(f"{row.change.value} ({clean(row.scope)})", style.columns // 2)
    yield f"{short} {fit(clean(row.test), style.columns - width(short) - 1, keep_end=True)}"
    if row.renamed_from:
        yield from _detail(f"in the base: {clean(row.renamed_from)}", style)


def never_run_lines(row: NeverRunRow, style: Style) -> Iterator[str]:
    """A test that no device ran; why, and how to run it, where that is red."""
    yield _test(row.test, style)
    if not row.red:
        return
    for device, cell in sorted(row.why.items())[:MOST_DEVICES]:
        reason = f": {clean(cell.message)}" if cell.message else ""
        yield from _detail(f"{clean(device)}: {cell.outcome.value}{reason}", style)
    yield from _reproduce(row.reproduce, style)


def metric_lines(row: MetricRow, style: Style) -> Iterator[str]:
    """A metric that moved."""
    yield _test(row.test, style, colour=RED if row.red else None)
    words = f"metric {clean(row.name)} on {clean(row.device)}: {clean(metric_words(row))}"
    yield from _detail(words, style)
    if row.red:
        yield from _reproduce(row.reproduce, style)


def drift_lines(row: DriftRow, style: Style) -> Iterator[str]:
    """A metric that differs between devices."""
    yield _test(row.test, style, colour=RED if row.red else None)
    yield from _detail(f"numeric-drift {clean(row.name)}: {clean(drift_words(row))}", style)
    if row.red:
        yield from _reproduce(row.reproduce, style)


def contradiction_lines(row: Contradiction, style: Style) -> Iterator[str]:
    """Files that say good and bad of one cell."""
    yield _test(row.test, style)
    said = ", ".join(f"{clean(file)} says {outcome.value}" for file, outcome in row.results[:MOST_DEVICES])
    yield from _detail(f"{clean(row.device)} ({row.evidence.value}): {said}", style)


def flaky_lines(row: FlakyRow, style: Style) -> Iterator[str]:
    """A test that earlier runs know to be flaky, in one line."""
    short = fit(f"{row.rate} on {clean(row.device)}", style.columns // 2)
    yield f"{short}: {fit(clean(row.test), style.columns - width(short) - 2, keep_end=True)}"


def slow_lines(row: SlowRow, style: Style) -> Iterator[str]:
    """A kernel that would be slow: what was found, where, and in which tests."""
    where = ", ".join(f"{clean(device)} ({_slow_on(on)})" for device, on in row.devices.items())
    yield from wrap(clean(row.finding), style.columns, hanging="  ")
    yield from wrap(f"on {where}", style.columns, indent="  ", hanging="    ")
    more = f" and {len(row.tests) - 1:,} more" if len(row.tests) > 1 else ""
    yield f"  in {fit(clean(row.tests[0]), style.columns - 5 - len(more), keep_end=True)}{more}"


def _test(test: str, style: Style, *, colour: str | None = None) -> str:
    return style.paint(fit(clean(test), style.columns, keep_end=True), colour)


def _why(device: str, part: ChangedCell) -> Iterator[str]:
    if part.cell is None:
        yield f"{clean(device)}: absent"
        return
    yield f"{clean(device)}: {_cell(part.cell)}"
    if part.note:
        yield clean(part.note)
    if part.cell.cause:
        yield from _cause(part.cell.cause, part.cell.message)


def _cell(cell: Cell) -> str:
    message = f": {clean(cell.message)}" if cell.message else ""
    return f"{cell.outcome.value} ({cell.evidence.value}){message}"


def _cause(cause: Cause, message: str) -> Iterator[str]:
    """Its category, what it calls for and how sure that is; then the line that decided, if it is not the message."""
    reason = f" ({clean(cause.reason)})" if cause.reason else ""
    sure = f"{cause.action.value}, confidence {cause.confidence.value}"
    yield f"{cause.category.value}{reason} -> {sure}: {clean(cause.advice)}".removesuffix(": ")
    if cause.note:
        yield f"but {clean(cause.note)}"
    if cause.evidence and cause.evidence not in message:
        yield f"decided by: {clean(cause.evidence)}"


def _detail(text: str, style: Style) -> list[str]:
    """A text below its test, in a few lines at most."""
    lines = wrap(text, style.columns, indent="  ", hanging="    ")
    if len(lines) <= _MOST_DETAIL_LINES:
        return lines
    return [*lines[: _MOST_DETAIL_LINES - 1], fit(f"{lines[_MOST_DETAIL_LINES - 1]} …", style.columns)]


def _reproduce(words: Sequence[str], style: Style) -> Iterator[str]:
    if not words:
        return
    most = _MOST_COMMAND_LINES * style.columns  # characters: measuring a longer one is work for nothing
    lines = command_lines(words, style.columns) if sum(map(len, words)) <= most else []
    if not 0 < len(lines) <= _MOST_COMMAND_LINES:
        yield fit("  (the command is too long to show: --format json has it)", style.columns)
    elif len(lines) == 1 and width(lines[0]) + 2 <= style.columns:
        yield f"  {lines[0]}"
    else:
        yield from lines


def _slow_on(on: SlowOn) -> str:
    tests = f"{len(on.tests):,} {'test' if len(on.tests) == 1 else 'tests'}"
    return f"{clean(on.figure)}, {tests}" if on.figure else tests
