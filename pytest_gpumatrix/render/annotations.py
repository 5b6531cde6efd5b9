"""A verdict as annotations, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.render.annotation import Annotation, Draft, InRepository, Level
from pytest_gpumatrix.render.flaky import history_words
from pytest_gpumatrix.render.numbers import number, relative
from pytest_gpumatrix.render.repository_path import repository_line, repository_path, split_place
from pytest_gpumatrix.render.tame import bounded, ending
from pytest_gpumatrix.render.text import clean
from pytest_gpumatrix.verdict.change import FAILURES, Change
from pytest_gpumatrix.verdict.verdict import ChangedCell, ChangeRow, DriftRow, MetricRow, NeverRunRow, Verdict

_LONGEST_NAME = 120  # characters of a test in a title
_LONGEST_TEXT = 1000
_MOST_DEVICES = 8
_KINDS = {change: place for place, change in enumerate(Change)}
_ABSENT, _METRIC, _NEVER_RUN, _STALE, _CONTRADICTION = range(len(_KINDS), len(_KINDS) + 5)
# What a change is where it is not red; one that is not here is not worth an annotation then.
_QUIET = {
    Change.UNEXPECTED_PASS: Level.NOTICE,
    Change.FIRST_RUN_FAILING: Level.WARNING,
    Change.STILL_FAILING: Level.WARNING,
    Change.UNKNOWN: Level.WARNING,
    Change.COVERAGE_LOST: Level.NOTICE,
    Change.FLAKY: Level.NOTICE,
}


def annotate(verdict: Verdict) -> tuple[Annotation, ...]:
    """By level; new failures before others, those with a place first, those that are known natively first."""
    return tuple(draft.annotation() for draft in drafts(verdict))


def drafts(verdict: Verdict) -> list[Draft]:
    """The same, not yet in words."""
    found = chain(
        chain.from_iterable(_change(row, verdict) for row in verdict.changes),
        _absent(verdict),
        _metrics(verdict),
        _never_run(verdict),
        _stale(verdict),
        _contradictions(verdict),
    )
    return sorted(found, key=lambda draft: draft.rank)


def _change(row: ChangeRow, verdict: Verdict) -> Iterator[Draft]:
    """One for each place; the devices that failed there together."""
    level = Level.ERROR if row.red else _QUIET.get(row.change)
    if level is None:
        return
    places: dict[InRepository | None, list[str]] = {}
    for device, part in row.devices.items():
        places.setdefault(_place(part.cell), []).append(device)
    for place, devices in places.items():
        cells = [cell for device in devices if (cell := row.devices[device].cell)]
        yield Draft(
            level=level,
            kind=_KINDS[row.change],
            title=f"{row.change.value} ({row.scope}) on {_names(devices)}: {_short(row.test)}",
            lines=partial(_changed, row, devices, verdict),
            place=place,
            strength=max((cell.evidence.strength for cell in cells), default=0),
        )


def _changed(row: ChangeRow, devices: Sequence[str], verdict: Verdict) -> Iterator[str]:
    """What each device says, those that say the same together."""
    yield row.test
    if row.renamed_from:
        yield f"was {row.renamed_from} in the base"
    alike: dict[tuple[str, ...], list[str]] = {}
    for device in devices:
        past = history_words(verdict.history.get(row.test, {}).get(device)) if row.change in FAILURES else ""
        alike.setdefault(tuple(filter(None, (*_said(row.devices[device]), past))), []).append(device)
    for said, names in list(alike.items())[:_MOST_DEVICES]:
        yield f"{_names(names)}: {said[0]}"
        yield from said[1:]
    if len(alike) > _MOST_DEVICES:
        yield f"and {len(alike) - _MOST_DEVICES} more, which the report has"
    yield from _reproduce(row.reproduce)


def _said(part: ChangedCell) -> Iterator[str]:
    cell = part.cell
    if cell is None:
        yield "absent"
        return
    yield f"{cell.outcome.value} ({cell.evidence.value}): {_cut(cell.message)}".removesuffix(": ")
    if cell.cause:
        reason = f" ({cell.cause.reason})" if cell.cause.reason else ""
        yield f"{cell.cause.category.value}{reason}: {cell.cause.advice}"
        if cell.cause.note:
            yield _cut(cell.cause.note)
    if part.note:
        yield _cut(part.note)


def _absent(verdict: Verdict) -> Iterator[Draft]:
    """What was not read, or did not report."""
    grave = Level.ERROR if verdict.missing_is_incomplete else Level.WARNING
    found = [(grave, f"{item.device} is missing", item.reason) for item in verdict.missing]
    found += [(grave, f"results of {name} were not read", reason) for name, reason in verdict.broken.items()]
    for what, refused in (("refused", verdict.refused), ("refused, of the baseline", verdict.base_refused)):
        found += [(Level.ERROR, f"{what}: {_short(file)}", reason) for file, reason in refused.items()]
    for level, title, reason in found:
        yield Draft(level=level, kind=_ABSENT, title=title, lines=partial(list, [reason]))


def _metrics(verdict: Verdict) -> Iterator[Draft]:
    for row in verdict.metrics:
        if row.worse:
            title = f"{row.name} worse on {row.device}: {_short(row.test)}"
            yield Draft(level=_level(red=row.red), kind=_METRIC, title=title, lines=partial(_metric, row))
    for drift in verdict.drift:
        title = f"{drift.name} differs on {_names(drift.apart)}: {_short(drift.test)}"
        yield Draft(level=_level(red=drift.red), kind=_METRIC, title=title, lines=partial(_drift, drift))


def _metric(row: MetricRow) -> Iterator[str]:
    yield row.test
    yield f"{number(row.base)} -> {number(row.head)} {row.unit} ({relative(row.base, row.head)})"
    yield f"{row.better} is better"
    yield from _reproduce(row.reproduce)


def _drift(row: DriftRow) -> Iterator[str]:
    yield row.test
    for device in (row.reference, *row.apart):
        yield f"{device}: {number(row.values[device])} {row.unit}"
    yield f"tolerance {row.tolerance}"
    yield from _reproduce(row.reproduce)


def _never_run(verdict: Verdict) -> Iterator[Draft]:
    for row in verdict.never_run:
        if row.red:
            title = f"runs on no device: {_short(row.test)}"
            yield Draft(level=Level.ERROR, kind=_NEVER_RUN, title=title, lines=partial(_why_never, row))


def _why_never(row: NeverRunRow) -> Iterator[str]:
    yield row.test
    for device, cell in sorted(row.why.items())[:_MOST_DEVICES]:
        yield f"{device}: {cell.outcome.value}: {_cut(cell.message)}"
    yield from _reproduce(row.reproduce)


def _stale(verdict: Verdict) -> Iterator[Draft]:
    for row in verdict.stale:
        item = row.expectation
        sentence = f"{item.test.text} on {item.devices.text}: {row.reason}"
        yield Draft(
            level=_level(red=row.red),
            kind=_STALE,
            title=f"stale expectation: {_short(item.test.text)}",
            lines=partial(list, [sentence]),
            place=_inside(*split_place(item.place)),
        )


def _contradictions(verdict: Verdict) -> Iterator[Draft]:
    for item in verdict.contradictions:
        said = [f"{outcome.value} in {file}" for file, outcome in item.results[:_MOST_DEVICES]]
        title = f"contradiction on {item.device}: {_short(item.test)}"
        yield Draft(level=Level.WARNING, kind=_CONTRADICTION, title=title, lines=partial(list, [item.test, *said]))


def _level(*, red: bool) -> Level:
    return Level.ERROR if red else Level.WARNING


def _place(cell: Cell | None) -> InRepository | None:
    return _inside(cell.place.file, cell.place.line) if cell and cell.place else None


def _inside(file: str, line: int | None) -> InRepository | None:
    path = repository_path(file)
    return None if path is None else (path, repository_line(line))


def _names(devices: Sequence[str]) -> str:
    shown = ", ".join(devices[:_MOST_DEVICES])
    return shown if len(devices) <= _MOST_DEVICES else f"{shown} and {len(devices) - _MOST_DEVICES} more"


def _short(name: str) -> str:
    return ending(name, _LONGEST_NAME)


def _cut(text: str) -> str:
    return bounded(clean(text), _LONGEST_TEXT)


def _reproduce(words: Sequence[str]) -> list[str]:
    command = " ".join(words)
    return [command] if command and len(command) <= 4 * _LONGEST_TEXT else []
