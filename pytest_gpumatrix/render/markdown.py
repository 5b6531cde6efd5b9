"""A verdict as GitHub Markdown of bounded size. Every text from outside stands in a code span."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_gpumatrix.render import markdown_lines as lines
from pytest_gpumatrix.render.answer import QUESTION, answer
from pytest_gpumatrix.render.asides import asides
from pytest_gpumatrix.render.flaky import flaky_rows
from pytest_gpumatrix.render.markdown_code import code
from pytest_gpumatrix.render.marks import UNICODE, legend
from pytest_gpumatrix.render.rows import shown_tests
from pytest_gpumatrix.render.slow import slow_rows
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import Conclusion, Verdict

LARGEST = 1024 * 1024  # bytes: GitHub drops a larger job summary whole
LARGEST_CHECK = 65_535  # bytes of the summary of a check run
LARGEST_COMMENT = 60_000  # bytes; a comment has 65,536 characters, and more may stand around the report
_SMALLEST = 1024
_MOST_ROWS = 50  # tests in the table
_LONGEST_NAME = 60  # characters of a device in the answer
_ICONS = {Conclusion.OK: "✅", Conclusion.REGRESSION: "❌", Conclusion.INCOMPLETE: "⚠️"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    """Lines under a title; ``blocks`` are cut from the end, each whole."""

    title: str
    noun: str  # of its blocks, for the word on what was cut
    blocks: Sequence[str]


def render_markdown(verdict: Verdict, *, largest: int = LARGEST) -> str:
    """The report as Markdown of at most ``largest`` bytes (at least 1,024), with a word on what was cut."""
    size = max(largest, _SMALLEST)
    sections = list(_sections(verdict))
    left = size - _bytes(_cut_words(sections, [0] * len(sections), size))  # as much as this may have to say
    text = _head(verdict, left)
    left -= _bytes(text)
    kept: list[int] = []
    for section in sections:
        blocks = _fitting(section, left)
        kept.append(len(blocks))
        if blocks:
            added = f"\n{section.title}" + "".join(blocks)
            left -= _bytes(added)
            text += added
    return text + _cut_words(sections, kept, size)


def _head(verdict: Verdict, room: int) -> str:
    """The conclusion, the answer and the headline: as much of them as fits."""
    found = answer(verdict)
    names = ", ".join(code(name, longest=_LONGEST_NAME) for name in found.devices)
    title = f"## {_ICONS[verdict.conclusion]} gpumatrix: {verdict.conclusion.value}\n"
    full = f"\n**{QUESTION}** {found.word}: {found.before}{names}{found.after}.\n"
    short = f"\n**{QUESTION}** {found.word}.\n"
    told = f"\n{code(headline(verdict))}\n"
    every = (title + full + told, title + full, title + short)
    return next((text for text in every if _bytes(text) <= room), title)


def _cut_words(sections: Sequence[_Section], kept: Sequence[int], size: int) -> str:
    """What was left out of each section, and what has it; empty if nothing was."""
    cut = [
        f"{len(section.blocks) - shown:,} of {len(section.blocks):,} {section.noun}"
        for section, shown in zip(sections, kept, strict=True)
        if shown < len(section.blocks)
    ]
    return f"\nCut to fit {size:,} bytes: {'; '.join(cut)}. The JSON report has them.\n" if cut else ""


def _bytes(text: str) -> int:
    return len(text.encode())


def _fitting(section: _Section, room: int) -> list[str]:
    kept: list[str] = []
    room -= _bytes(section.title) + 1
    for block in section.blocks:
        room -= _bytes(block)
        if room < 0:
            break
        kept.append(block)
    return kept


def _sections(verdict: Verdict) -> Iterator[_Section]:
    """In the order of what a reader needs first."""
    yield _Section(
        title="| device | capability | evidence | required | results |\n| --- | --- | --- | --- | --- |\n",
        noun="devices",
        blocks=[lines.device_row(summary) for summary in verdict.devices],
    )
    yield _Section(title="### Red\n\n", noun="red lines", blocks=list(_red(verdict)))
    yield _Section(title="### Not known\n\n", noun="gaps", blocks=list(_gaps(verdict)))
    never = [lines.never_run_lines(row) for row in verdict.never_run]
    yield _Section(title="### Never run\n\n", noun="tests that never run", blocks=never)
    yield _Section(title="### Also\n\n", noun="notes", blocks=list(_facts(verdict)))
    yield _table(verdict)
    moved = [lines.metric_lines(row) for row in verdict.metrics if not row.red]
    moved += [lines.drift_lines(row) for row in verdict.drift if not row.red]
    yield _Section(title="### Metrics\n\n", noun="metrics", blocks=moved)
    slow = [lines.slow_line(row) for row in slow_rows(verdict.matrix)]
    yield _Section(title="### Slow\n\n", noun="slow launches", blocks=slow)
    quiet = [lines.quiet_line(row) for row in verdict.changes if not row.red]
    yield _Section(title="### Changed, not red\n\n", noun="other changes", blocks=quiet)
    flaky = [lines.flaky_line(row) for row in flaky_rows(verdict)]
    yield _Section(title="### Flaky\n\n", noun="flaky tests", blocks=flaky)


def _red(verdict: Verdict) -> Iterator[str]:
    yield from (lines.change_lines(row, verdict) for row in verdict.changes if row.red)
    yield from (lines.metric_lines(row) for row in verdict.metrics if row.red)
    yield from (lines.drift_lines(row) for row in verdict.drift if row.red)
    yield from (lines.stale_line(row) for row in verdict.stale if row.red)


def _gaps(verdict: Verdict) -> Iterator[str]:
    """What keeps the verdict from knowing."""
    for item in verdict.missing:
        yield f"- {code(item.device)} is missing: {code(item.reason)}\n"
    for name, reason in sorted(verdict.refused.items()):
        yield f"- {code(name)} was refused: {code(reason)}\n"
    for name, reason in sorted(verdict.base_refused.items()):
        yield f"- {code(name)} of the baseline was refused: {code(reason)}\n"
    for name, reason in verdict.broken.items():
        yield f"- results of {code(name)} were not read: {code(reason)}\n"
    yield from map(lines.contradiction_line, verdict.contradictions)


def _table(verdict: Verdict) -> _Section:
    shown = shown_tests(verdict, _MOST_ROWS)
    names = [item.device.name for item in verdict.devices]
    head = f"| test | {' | '.join(map(code, names))} |\n|{' --- |' * (len(names) + 1)}\n"
    rest = f"{shown.more:,} more differ, fail or changed; {shown.alike:,} are alike on every device."
    if shown.elsewhere:
        rest += f" {shown.elsewhere:,} are alike where they have a result: some device has none."
    cells = (resolved.cell for row in verdict.matrix.cells.values() for resolved in row.values())
    marks = ", ".join(legend(cells, UNICODE))
    return _Section(
        title=f"### Tests that differ, fail or changed\n\n{rest}\n\n{marks}\n\n{head}",
        noun="rows of the table",
        blocks=[lines.table_row(test, names, verdict) for test in shown.tests],
    )


def _facts(verdict: Verdict) -> Iterator[str]:
    yield from (lines.stale_line(row) for row in verdict.stale if not row.red)
    yield from (f"- {words}\n" for words in asides(verdict))
    yield from (f"- {code(note)}\n" for note in verdict.notes)
