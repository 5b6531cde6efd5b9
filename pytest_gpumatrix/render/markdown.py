"""A verdict as GitHub Markdown of bounded size. Every text from outside stands in a code span."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.render.marks import UNICODE, legend, words_for
from pytest_gpumatrix.render.rows import shown_tests
from pytest_gpumatrix.render.slow import SlowOn, SlowRow, slow_rows
from pytest_gpumatrix.render.text import clean
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import (
    ChangedCell,
    ChangeRow,
    Conclusion,
    DeviceSummary,
    NeverRunRow,
    StaleRow,
    Verdict,
)

LARGEST = 1024 * 1024  # bytes: GitHub drops a larger job summary whole
_SMALLEST = 1024
_MOST_ROWS = 50  # tests in the table
_MOST_DEVICES = 20  # of one change
_LONGEST = 300  # characters of a name, message or command
_ICONS = {Conclusion.OK: "✅", Conclusion.REGRESSION: "❌", Conclusion.INCOMPLETE: "⚠️"}
_JOINER = "\N{WORD JOINER}"
# What could begin a mention, a reference or a tag where a reader does not know of code spans.
_TRIGGER = re.compile("([@#<])")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    """Lines under a title; ``blocks`` are cut from the end, each whole."""

    title: str
    noun: str  # of its blocks, for the word on what was cut
    blocks: Sequence[str]


def render_markdown(verdict: Verdict, *, largest: int = LARGEST) -> str:
    """The report as Markdown of at most ``largest`` bytes (at least 1,024), with a word on what was cut."""
    text = f"## {_ICONS[verdict.conclusion]} gpumatrix: {verdict.conclusion.value}\n\n"
    text += code(headline(verdict), longest=_SMALLEST // 4) + "\n"
    left = max(largest, _SMALLEST) - len(text.encode()) - _SMALLEST // 2  # the rest is for what is said of the cut
    cut: list[str] = []
    for section in _sections(verdict):
        kept = _fitting(section, left)
        if kept:
            added = f"\n{section.title}" + "".join(kept)
            left -= len(added.encode())
            text += added
        if len(kept) < len(section.blocks):
            cut.append(f"{len(section.blocks) - len(kept):,} of {len(section.blocks):,} {section.noun}")
    if cut:
        text += f"\nCut to fit {max(largest, _SMALLEST):,} bytes: {'; '.join(cut)}. The JSON report has them.\n"
    return text


def code(text: str, *, longest: int = _LONGEST) -> str:
    """A hostile text as one code span: one line, no bar, and nothing that fires inside or outside of it."""
    shown = clean(text)
    if len(shown) > longest:
        shown = f"{shown[:longest]}…"
    shown = _TRIGGER.sub(rf"\1{_JOINER}", shown.replace("|", "\N{DIVIDES}"))
    if not shown:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def _fitting(section: _Section, room: int) -> list[str]:
    kept: list[str] = []
    room -= len(section.title.encode()) + 1
    for block in section.blocks:
        room -= len(block.encode())
        if room < 0:
            break
        kept.append(block)
    return kept


def _sections(verdict: Verdict) -> Iterator[_Section]:
    """In the order of what a reader needs first."""
    yield _Section(
        title="| device | capability | evidence | required | results |\n| --- | --- | --- | --- | --- |\n",
        noun="devices",
        blocks=[_device(summary) for summary in verdict.devices],
    )
    red = [_change(row) for row in verdict.changes if row.red]
    yield _Section(title="### Red\n\n", noun="red lines", blocks=red)
    never = [_never_run(row) for row in verdict.never_run]
    yield _Section(title="### Never run\n\n", noun="tests that never run", blocks=never)
    yield _Section(title="### Also\n\n", noun="notes", blocks=list(_facts(verdict)))
    yield _table(verdict)
    yield _Section(title="### Slow\n\n", noun="slow launches", blocks=[_slow(row) for row in slow_rows(verdict.matrix)])
    quiet = [f"- {row.change.value}: {code(row.test)} {code(row.scope)}\n" for row in verdict.changes if not row.red]
    yield _Section(title="### Changed, not red\n\n", noun="other changes", blocks=quiet)


def _device(summary: DeviceSummary) -> str:
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


def _change(row: ChangeRow) -> str:
    lines = [f"- **{row.change.value}** {code(row.scope)}: {code(row.test)}\n"]
    lines += [_part(device, part) for device, part in list(row.devices.items())[:_MOST_DEVICES]]
    if len(row.devices) > _MOST_DEVICES:
        lines.append(f"  - and {len(row.devices) - _MOST_DEVICES} more devices\n")
    return "".join([*lines, _reproduce(row.reproduce)])


def _part(device: str, part: ChangedCell) -> str:
    if part.cell is None:
        return f"  - {code(device)}: absent\n"
    cell = part.cell
    text = f"  - {code(device)}: {_cell(cell)}"
    if cell.cause:
        text += f" → {cell.cause.category.value}: {code(cell.cause.advice)}"
    return text + (f" ({code(part.note)})\n" if part.note else "\n")


def _cell(cell: Cell) -> str:
    return f"{cell.outcome.value} ({cell.evidence.value}) {code(cell.message)}".rstrip()


def _never_run(row: NeverRunRow) -> str:
    why = [f"  - {code(device)}: {_cell(cell)}\n" for device, cell in sorted(row.why.items())[:_MOST_DEVICES]]
    return "".join([f"- {code(row.test)}\n", *why, _reproduce(row.reproduce)])


def _reproduce(words: Sequence[str]) -> str:
    """The command; its words are quoted so that none of its characters means anything to Markdown."""
    command = " ".join(words)
    if not command:
        return ""
    if len(command) > 4 * _LONGEST:
        return "  - the command is too long to show; the JSON report has it\n"
    return f"  - {code(command, longest=4 * _LONGEST)}\n"


def _table(verdict: Verdict) -> _Section:
    shown = shown_tests(verdict, _MOST_ROWS)
    names = [item.device.name for item in verdict.devices]
    head = f"| test | {' | '.join(map(code, names))} |\n|{' --- |' * (len(names) + 1)}\n"
    rows = [_table_row(test, names, verdict) for test in shown.tests]
    rest = f"{shown.more:,} more differ, fail or changed; {shown.alike:,} are alike on every device."
    if shown.elsewhere:
        rest += f" {shown.elsewhere:,} are alike where they have a result: some device has none."
    cells = (resolved.cell for row in verdict.matrix.cells.values() for resolved in row.values())
    marks = ", ".join(legend(cells, UNICODE))
    return _Section(
        title=f"### Tests that differ, fail or changed\n\n{rest}\n\n{marks}\n\n{head}",
        noun="rows of the table",
        blocks=rows,
    )


def _table_row(test: str, names: Iterable[str], verdict: Verdict) -> str:
    cells = (verdict.matrix.cell(test, name) for name in names)
    marks = (UNICODE.of(cell) if cell else "" for cell in cells)
    return f"| {code(test)} | {' | '.join(marks)} |\n"


def _slow(row: SlowRow) -> str:
    where = [f"{code(device)} ({_slow_on(on)})" for device, on in list(row.devices.items())[:_MOST_DEVICES]]
    if len(row.devices) > _MOST_DEVICES:
        where.append(f"{len(row.devices) - _MOST_DEVICES} more devices")
    others = " and others" if len(row.tests) > 1 else ""
    return f"- {code(row.finding)} on {', '.join(where)}, in {code(row.tests[0])}{others}\n"


def _slow_on(on: SlowOn) -> str:
    return ", ".join([*([code(on.figure)] if on.figure else []), f"tests: {len(on.tests):,}"])


def _facts(verdict: Verdict) -> Iterator[str]:
    for item in verdict.missing:
        yield f"- {code(item.device)} is missing: {code(item.reason)}\n"
    for name, reason in verdict.broken.items():
        yield f"- results of {code(name)} were not read: {code(reason)}\n"
    yield from (_stale(row) for row in verdict.stale)
    if verdict.expected:
        yield f"- {len(verdict.expected):,} cells failed as gpumatrix.yml expects\n"
    if verdict.never_run_natively:
        yield f"- {verdict.never_run_natively:,} of {len(verdict.matrix.cells):,} tests never ran natively\n"
    yield from (f"- {code(note)}\n" for note in verdict.notes)


def _stale(row: StaleRow) -> str:
    item = row.expectation
    where = f"{code(item.test.text)} on {code(item.devices.text)}"
    return f"- stale-expectation: {code(item.place)}: {where}: {code(row.reason)}\n"
