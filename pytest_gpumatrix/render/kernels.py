"""The kernels of tapes on devices, for a terminal: a table, and below it what each bad one suffers from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_gpumatrix.portability.judging.judgement import WORST_FIRST, Fit
from pytest_gpumatrix.portability.judging.kernel_rows import KernelRow
from pytest_gpumatrix.portability.judging.plan import STAND_IN, Judged
from pytest_gpumatrix.portability.judging.tapes import Findings
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.render.grid import Drawn, GridRow, column_labels, grid_lines
from pytest_gpumatrix.render.kernel_groups import Finding, Function, alike, findings_of, functions_of
from pytest_gpumatrix.render.marks import MarkSet
from pytest_gpumatrix.render.style import Style
from pytest_gpumatrix.render.text import clean, fit, wrap, wrap_words

_MOST_ROWS = 40  # lines of the table
_MOST_ENTRIES = 15  # in each list below it
_MOST_LINES = 6  # of one reason
_MOST_NOTES = 5
_RED, _YELLOW = "31", "33"
_COLOURS = {Fit.FAILS: _RED, Fit.SLOW: _YELLOW, Fit.UNKNOWN: _YELLOW, Fit.FITS: None}
_TITLES = {Fit.FAILS: "Fails", Fit.UNKNOWN: "Not known", Fit.SLOW: "Slow"}
_WORDS = {Fit.FITS: "fits", Fit.SLOW: "fits, slow there", Fit.FAILS: "fails", Fit.UNKNOWN: "not known"}


def render_kernels(
    findings: Findings,
    compilers: Mapping[str, str],
    *,
    width: int = 80,
    colour: bool = False,
    encoding: str | None = "utf-8",
) -> str:
    """``compilers`` are the releases that compiled."""
    style = Style.of(width=width, colour=colour, encoding=encoding)
    return style.text(_lines(findings, compilers, style))


def _lines(findings: Findings, compilers: Mapping[str, str], style: Style) -> Iterator[str]:
    yield from wrap(clean(_how(findings, compilers)), style.columns, hanging="  ")
    names = [clean(name) for name in findings.devices]
    yield from wrap_words(_devices(findings, column_labels(names, style)), style.columns, hanging="  ", gap=", ")
    functions = functions_of(findings.rows)
    if functions:
        yield ""
        yield from _table(functions, names, style)
        yield from _legend(findings, style)
    for found in (Fit.FAILS, Fit.UNKNOWN, Fit.SLOW):
        yield from _section(functions, found, findings, style)
    yield ""
    yield from _notes(findings, style)
    yield from _caveats(functions, style)
    yield from wrap(_summary(findings), style.columns, hanging="  ")


def _how(findings: Findings, compilers: Mapping[str, str]) -> str:
    recorded = " and ".join(dict.fromkeys(_recorded(findings)))
    by = " and ".join(f"{name} {version}" for name, version in compilers.items()) or "no compiler, for none is here"
    natives = sorted({tape.capability for tape in findings.tapes if tape.capability is not None})
    if natives:
        held = f"the build for {' or '.join(map(str, natives))}, where it ran"
    else:
        held = f"the build for {STAND_IN}, as nothing ran on a GPU"
    return f"Recorded {recorded}; compiled by {by}. Slow is said against {held}."


def _recorded(findings: Findings) -> Iterator[str]:
    for tape in findings.tapes:
        triton = tape.versions.get("triton")
        version = f" (triton {triton})" if triton else ""
        where = f"on a GPU of {tape.capability}" if tape.capability is not None else "on a CPU, without a GPU"
        yield f"{where}{version}"


def _devices(findings: Findings, labels: Sequence[str]) -> Iterator[str]:
    """What the columns stand for."""
    if all(name == str(profile.capability) for name, profile in findings.devices.items()):
        yield "Columns: any GPU of that compute capability"
        return
    for label, (name, profile) in zip(labels, findings.devices.items(), strict=True):
        number = "" if label == clean(name) else f"{label} "
        of_any = name == str(profile.capability)
        yield clean(f"{number}{name}: {'any GPU of it' if of_any else f'{profile.name} ({profile.capability})'}")


def _table(functions: Sequence[Function], names: Sequence[str], style: Style) -> Iterator[str]:
    rows: list[GridRow] = []
    for function in functions:
        groups = alike(function)
        if len(groups) == 1:
            rows.append(_row(f"{function.name}, {function.label(groups[0])}", groups[0], style))
            continue
        rows.append(GridRow(label=clean(f"{function.name}, {len(function.rows):,} specialisations")))
        rows += [_row(f"  {function.label(group)}", group, style) for group in groups]
    yield from grid_lines(names, rows[:_MOST_ROWS], style)
    if len(rows) > _MOST_ROWS:
        yield f"... and {len(rows) - _MOST_ROWS:,} more lines; --format json has all"


def _row(label: str, rows: Sequence[KernelRow], style: Style) -> GridRow:
    indent = label[: len(label) - len(label.lstrip(" "))]  # a name may begin with any other white space
    cells = [_drawn(judged, style.marks) for judged in rows[0].devices.values()]
    return GridRow(label=indent + clean(label), cells=cells, keep_end=False)


def _legend(findings: Findings, style: Style) -> list[str]:
    found = {judged.judgement.fit for row in findings.rows for judged in row.devices.values()}
    entries = [f"{_mark(each, style.marks)} {_WORDS[each]}" for each in reversed(WORST_FIRST) if each in found]
    return wrap_words(entries, style.columns, hanging="  ", gap="  ")


def _drawn(judged: Judged, marks: MarkSet) -> Drawn:
    return Drawn(mark=_mark(judged.judgement.fit, marks), colour=_COLOURS[judged.judgement.fit])


def _mark(found: Fit, marks: MarkSet) -> str:
    """As in the matrix: what fits is compiled, and no pass."""
    compiled = marks.mark(Outcome.COMPILED, Evidence.COMPILED)
    return {
        Fit.FITS: compiled,
        Fit.SLOW: compiled + marks.slow,
        Fit.FAILS: marks.mark(Outcome.FAILED, Evidence.NATIVE),
        Fit.UNKNOWN: marks.mark(Outcome.UNKNOWN, Evidence.NONE),
    }[found]


def _section(functions: Sequence[Function], found: Fit, findings: Findings, style: Style) -> Iterator[str]:
    entries = [entry for function in functions for entry in findings_of(function, found, findings.devices)]
    if not entries:
        return
    yield ""
    yield f"{_TITLES[found]}:"
    last = None
    for entry in entries[:_MOST_ENTRIES]:
        if entry.function is not last:
            last = entry.function
            head = fit(f"{clean(last.name)}  {clean(last.place)}", style.columns, keep_end=True)
            yield style.paint(head, _COLOURS[found])
        yield from _entry(entry, style)
    if len(entries) > _MOST_ENTRIES:
        yield f"... and {len(entries) - _MOST_ENTRIES:,} more; --format json has all"


def _entry(entry: Finding, style: Style) -> Iterator[str]:
    lines = wrap(clean(entry.sentence), style.columns, indent="  ", hanging="      ")
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield "      ..."
    yield fit(f"    {clean(entry.function.label(entry.rows))}", style.columns)
    tests = list(dict.fromkeys(test for row in entry.rows for test in row.tests))
    more = f" and {len(tests) - 1:,} more" if len(tests) > 1 else ""
    yield f"    in {fit(clean(tests[0]), style.columns - 7 - len(more), keep_end=True)}{more}"


def _notes(findings: Findings, style: Style) -> Iterator[str]:
    for tape in findings.tapes:
        if tape.cut_off:
            text = f"{tape.path} is cut off: what came after its last line is not known"
            yield from wrap(clean(text), style.columns, hanging="  ")
    for problem in findings.problems[:_MOST_NOTES]:
        yield from wrap(clean(f"not recorded: {problem.test}: {problem.message}"), style.columns, hanging="  ")
    if len(findings.problems) > _MOST_NOTES:
        yield f"... and {len(findings.problems) - _MOST_NOTES:,} more that could not be recorded"


def _caveats(functions: Sequence[Function], style: Style) -> Iterator[str]:
    """What a reader could take for more than it is."""
    rows = [row for function in functions for row in function.rows]
    if any(function.rows[0].facts.kind == "cuda" for function in functions):
        yield from wrap("CUDA C++ is judged by the source on the tape, whatever the files hold now", style.columns)
    if any(judged.judgement.fit is Fit.FAILS for row in rows for judged in row.devices.values()):
        yield from wrap("a tape has no marks: what a mark skips on a device is judged for it too", style.columns)


def _summary(findings: Findings) -> str:
    if not findings.rows:
        return "no kernel launch on the tape: nothing can be said of any device"
    fits: Iterable[Fit] = [judged.judgement.fit for row in findings.rows for judged in row.devices.values()]
    counts = {each: sum(found is each for found in fits) for each in reversed(WORST_FIRST)}
    told = ", ".join(f"{count:,} {_COUNTED[each]}" for each, count in counts.items() if count)
    kernels, devices = len(findings.rows), len(findings.devices)
    plural = "s" if kernels != 1 else "", "s" if devices != 1 else ""
    return f"{kernels:,} kernel{plural[0]} x {devices:,} device{plural[1]}: {told}"


_COUNTED = {Fit.FITS: "fit", Fit.SLOW: "fit and are slow", Fit.FAILS: "fail", Fit.UNKNOWN: "not known"}
