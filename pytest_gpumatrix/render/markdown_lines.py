"""One row of a verdict as lines of Markdown: a list's item, or a table's row. Every foreign text is a code span."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.render.flaky import FlakyRow, history_words
from pytest_gpumatrix.render.markdown_code import LONGEST, code
from pytest_gpumatrix.render.marks import UNICODE, words_for
from pytest_gpumatrix.render.moved import drift_words, metric_words
from pytest_gpumatrix.render.slow import SlowOn, SlowRow
from pytest_gpumatrix.triage.cause import Cause
from pytest_gpumatrix.verdict.verdict import (
    ChangedCell,
    ChangeRow,
    DeviceSummary,
    DriftRow,
    MetricRow,
    NeverRunRow,
    StaleRow,
    Verdict,
)

_MOST_DEVICES = 20  # of one change


def device_row(summary: DeviceSummary) -> str:
    """A row of the table of devices."""
    device = summary.device
    counts = ", ".join(
        f"{UNICODE.mark(outcome, evidence)} {count:,} {words_for(outcome, evidence)}"
        for outcome in Outcome
        for evidence in Evidence
        if (count := summary.counts.get(evidence, {}).get(outcome))
    )
    missing = f"**missing**: {code(summary.missing)} " if summary.missing else ""
    capability = str(device.capability) if device.capability else ""
    required = device.require.value if device.planned else ""
    return f"| {code(device.name)} | {capability} | {device.reported.value} | {required} | {missing}{counts} |\n"


def change_lines(row: ChangeRow, verdict: Verdict) -> str:
    """A change with its devices, their causes and history, and the command that reproduces it."""
    lines = [f"- **{row.change.value}** {code(row.scope)}: {code(row.test)}\n"]
    if row.renamed_from:
        lines.append(f"  - {code(row.renamed_from)} in the base\n")
    for device, part in list(row.devices.items())[:_MOST_DEVICES]:
        lines.append(_part(device, part))
        if words := history_words(verdict.history.get(row.test, {}).get(device)):
            lines.append(f"    - {code(words)}\n")
    if len(row.devices) > _MOST_DEVICES:
        lines.append(f"  - and {len(row.devices) - _MOST_DEVICES} more devices\n")
    return "".join([*lines, _reproduce(row.reproduce)])


def quiet_line(row: ChangeRow) -> str:
    """A change that is not red."""
    renamed = f" ({code(row.renamed_from)} in the base)" if row.renamed_from else ""
    return f"- {row.change.value}: {code(row.test)} {code(row.scope)}{renamed}\n"


def metric_lines(row: MetricRow) -> str:
    """A metric that moved; with its command where it is red."""
    line = f"- **metric** {code(row.name)} on {code(row.device)}: {code(row.test)}: {code(metric_words(row))}\n"
    return line + (_reproduce(row.reproduce) if row.red else "")


def drift_lines(row: DriftRow) -> str:
    """A metric that differs between devices; with its command where it is red."""
    line = f"- **numeric-drift** {code(row.name)}: {code(row.test)}: {code(drift_words(row))}\n"
    return line + (_reproduce(row.reproduce) if row.red else "")


def contradiction_line(row: Contradiction) -> str:
    """Files that say good and bad of one cell."""
    said = ", ".join(f"{code(file)} says {outcome.value}" for file, outcome in row.results[:_MOST_DEVICES])
    return f"- {code(row.test)} on {code(row.device)} ({row.evidence.value}): {said}\n"


def never_run_lines(row: NeverRunRow) -> str:
    """A test that no device ran, and why."""
    why = [f"  - {code(device)}: {_cell(cell)}\n" for device, cell in sorted(row.why.items())[:_MOST_DEVICES]]
    return "".join([f"- {code(row.test)}\n", *why, _reproduce(row.reproduce)])


def flaky_line(row: FlakyRow) -> str:
    """A test that earlier runs know to be flaky."""
    return f"- {code(row.test)} on {code(row.device)}: {row.rate}\n"


def stale_line(row: StaleRow) -> str:
    """An expectation that no longer says anything, and where it stands."""
    item = row.expectation
    where = f"{code(item.test.text)} on {code(item.devices.text)}"
    word = "**stale-expectation**" if row.red else "stale-expectation"
    return f"- {word}: {code(item.place)}: {where}: {code(row.reason)}\n"


def slow_line(row: SlowRow) -> str:
    """A kernel that would be slow."""
    where = [f"{code(device)} ({_slow_on(on)})" for device, on in list(row.devices.items())[:_MOST_DEVICES]]
    if len(row.devices) > _MOST_DEVICES:
        where.append(f"{len(row.devices) - _MOST_DEVICES} more devices")
    others = " and others" if len(row.tests) > 1 else ""
    return f"- {code(row.finding)} on {', '.join(where)}, in {code(row.tests[0])}{others}\n"


def table_row(test: str, names: Iterable[str], verdict: Verdict) -> str:
    """A test's marks."""
    cells = (verdict.matrix.cell(test, name) for name in names)
    marks = (UNICODE.of(cell) if cell else "" for cell in cells)
    return f"| {code(test)} | {' | '.join(marks)} |\n"


def _part(device: str, part: ChangedCell) -> str:
    if part.cell is None:
        return f"  - {code(device)}: absent\n"
    text = f"  - {code(device)}: {_cell(part.cell)}"
    text += f" ({code(part.note)})\n" if part.note else "\n"
    return text + "".join(_cause(part.cell.cause, part.cell.message) if part.cell.cause else ())


def _cause(cause: Cause, message: str) -> Iterator[str]:
    """Its category, what it calls for and how sure that is; then the line that decided, if it is not the message."""
    reason = f" ({code(cause.reason)})" if cause.reason else ""
    advice = f": {code(cause.advice)}" if cause.advice else ""
    sure = f"confidence {cause.confidence.value}"
    yield f"    - {cause.category.value}{reason} → {cause.action.value} ({sure}){advice}\n"
    if cause.note:
        yield f"    - but {code(cause.note)}\n"
    if cause.evidence and cause.evidence not in message:
        yield f"    - decided by {code(cause.evidence)}\n"


def _cell(cell: Cell) -> str:
    return f"{cell.outcome.value} ({cell.evidence.value}) {code(cell.message)}".rstrip()


def _reproduce(words: Sequence[str]) -> str:
    """The command; its words are quoted so that none of its characters means anything to Markdown."""
    command = " ".join(words)
    if not command:
        return ""
    if len(command) > 4 * LONGEST:
        return "  - the command is too long to show; the JSON report has it\n"
    return f"  - {code(command, longest=4 * LONGEST)}\n"


def _slow_on(on: SlowOn) -> str:
    return ", ".join([*([code(on.figure)] if on.figure else []), f"tests: {len(on.tests):,}"])
