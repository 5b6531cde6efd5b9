"""Expectations held against the cells of a run: met, unexpected passes, stale ones."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.expectation import Expectation
from pytest_gpumatrix.config.pattern import TestIndex
from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.change import has_word
from pytest_gpumatrix.verdict.matrix import Matrix, MatrixDevice, Resolved

# What meets each expectation. A crash or a hang is not the failure that "fail" speaks of; "skip" is met by anything.
_BAD = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.CRASHED, Outcome.TIMEOUT})
_MEETS = {
    Expect.FAIL: frozenset({Outcome.FAILED, Outcome.ERROR}),
    Expect.CRASH: frozenset({Outcome.CRASHED, Outcome.TIMEOUT}),
    Expect.FLAKY: _BAD,
    Expect.SKIP: _BAD,
}
_WORDS = {Expect.FAIL: "to fail", Expect.CRASH: "to crash"}
_HOW = {Outcome.CRASHED: "crashed", Outcome.TIMEOUT: "timed out"}
_RAN = frozenset({*_BAD, Outcome.PASSED, Outcome.XFAILED, Outcome.XPASSED, Outcome.COMPILED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """An expectation that no longer says anything."""

    expectation: Expectation
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """A matrix under the expectations that have not expired. The mappings are by test, then by device."""

    matrix: Matrix  # unexpected passes have become xpassed
    met: Mapping[str, Mapping[str, Expectation]]  # cells that are bad, or were until a rerun, as foretold
    exempt: Mapping[str, Mapping[str, Expectation]]  # cells that are in no change: those of ``met`` among them
    notes: Mapping[str, Mapping[str, str]]  # why a failure is not the expected one, or a pass not red


@dataclass(frozen=True, kw_only=True, slots=True)
class _Settled:
    """One cell under the expectations that speak of it."""

    cell: Cell
    met: Expectation | None = None
    exempt: Expectation | None = None
    note: str = ""


def settle(config: Config, matrix: Matrix, tests: TestIndex, today: datetime.date) -> Settlement:
    """Hold each cell against the expectations of its test and device. ``tests`` are those of the matrix."""
    cells: dict[str, Mapping[str, Resolved]] = dict(matrix.cells)
    met: dict[str, dict[str, Expectation]] = {}
    exempt: dict[str, dict[str, Expectation]] = {}
    notes: dict[str, dict[str, str]] = {}
    devices = {device.name: device for device in matrix.devices}
    speaking = _speaking(config, matrix, tests, today)
    for test in sorted(speaking):
        row, own = matrix.cells[test], speaking[test]
        settled = {name: _settle(row[name].cell, devices[name], own[name]) for name in row if name in own}
        cells[test] = {
            name: replace(resolved, cell=settled[name].cell) if name in settled else resolved
            for name, resolved in row.items()
        }
        met[test] = {name: item.met for name, item in settled.items() if item.met}
        exempt[test] = {name: item.exempt for name, item in settled.items() if item.exempt}
        notes[test] = {name: item.note for name, item in settled.items() if item.note}
    return Settlement(matrix=replace(matrix, cells=cells), met=met, exempt=exempt, notes=notes)


def asked_for(matrix: Matrix, settlement: Settlement) -> Matrix:
    """The matrix without the cells of which nothing is asked (``expect: skip``): their metrics do not count either."""
    cells = dict(matrix.cells)
    for test, own in settlement.exempt.items():
        skipped = {name for name, item in own.items() if item.expect is Expect.SKIP}
        if skipped:
            cells[test] = {name: resolved for name, resolved in cells[test].items() if name not in skipped}
    return replace(matrix, cells=cells)


def stale_expectations(
    config: Config, matrix: Matrix, tests: TestIndex, today: datetime.date, *, reported: Collection[str]
) -> tuple[Stale, ...]:
    """Expired ones, those that match no test or no device, and those whose tests did not run where they hold.

    ``reported``: the devices with results. Of a missing one nobody knows what would have run.
    """
    reasons = ((item, _stale(item, matrix, tests, today, reported)) for item in config.expectations)
    return tuple(Stale(expectation=item, reason=reason) for item, reason in reasons if reason)


def _stale(
    item: Expectation, matrix: Matrix, tests: TestIndex, today: datetime.date, reported: Collection[str]
) -> str | None:
    if item.expired(today):
        return f"expired after {item.until}"
    matched = item.test.among(tests)
    if not matched:
        return "matches no test"
    devices = _selected(item, matrix)
    if not devices:
        return "matches no device"
    if item.expect is Expect.SKIP or not all(name in reported for name in devices):
        return None
    rows = (matrix.cells[test] for test in matched)
    if any(name in row and _may_have_run(row[name].cell) for row in rows for name in devices):
        return None
    return f"matches tests, but none of them ran on {', '.join(devices)}"


def _may_have_run(cell: Cell) -> bool:
    return cell.outcome in _RAN or cell.outcome is Outcome.UNKNOWN


def _speaking(
    config: Config, matrix: Matrix, tests: TestIndex, today: datetime.date
) -> Mapping[str, Mapping[str, Sequence[Expectation]]]:
    """The expectations that speak of each cell, in their order, by test and device."""
    found: dict[str, dict[str, list[Expectation]]] = {}
    for item in config.expectations:
        if item.expired(today):
            continue
        devices = _selected(item, matrix)
        for test in item.test.among(tests) if devices else ():
            row = matrix.cells[test]
            for name in devices:
                if name in row:
                    found.setdefault(test, {}).setdefault(name, []).append(item)
    return found


def _selected(item: Expectation, matrix: Matrix) -> list[str]:
    return [device.name for device in matrix.devices if item.devices.selects(device.name, device.capability)]


def _settle(cell: Cell, device: MatrixDevice, own: Sequence[Expectation]) -> _Settled:
    """A skip comes before all others, and a flaky test is no surprise either way: if it was left to pass or fail."""
    if skip := _first(own, Expect.SKIP):
        listed = skip if cell.standing in (Standing.BAD, Standing.UNKNOWN) else None
        return _Settled(cell=cell, met=listed, exempt=skip)
    if cell.outcome in _BAD:
        met = next((item for item in own if meets(cell, item.expect, item.cause)), None)
        return _Settled(cell=cell, met=met, exempt=met, note="" if met else _not_met(cell, own))
    if flaky := _first(own, Expect.FLAKY):
        passed = cell.outcome is Outcome.PASSED
        return _Settled(cell=cell, met=flaky if passed and cell.reruns else None, exempt=flaky if passed else None)
    if cell.outcome is Outcome.PASSED and has_word(cell, device.require):
        return _unexpected_pass(cell, own)
    return _Settled(cell=cell)


def _first(own: Sequence[Expectation], expect: Expect) -> Expectation | None:
    return next((item for item in own if item.expect is expect), None)


def meets(cell: Cell, expect: Expect, cause: Category | None) -> bool:
    """Whether a bad cell is what an entry foretells; ``cause`` is the one that it asks for."""
    found = cell.cause.category if cell.cause else None
    return cell.outcome in _MEETS[expect] and cause in (None, found)


def _unexpected_pass(cell: Cell, own: Sequence[Expectation]) -> _Settled:
    """Strict only if it passed on the device itself: where that is not what ran, it may well fail there."""
    first = own[0]
    message = f"passed, but {first.place} expects it {_WORDS[first.expect]}: {first.reason}".removesuffix(": ")
    strict = any(item.strict for item in own)
    native = cell.evidence is Evidence.NATIVE
    note = "" if native or not strict else f"not red: it passed by {cell.evidence.value} evidence, not natively"
    passed = replace(
        cell, outcome=Outcome.XPASSED, strict=strict and native, message=message, place=_standing_at(first)
    )
    return _Settled(cell=passed, note=note)


def _standing_at(item: Expectation) -> Place:
    """Where the entry stands that is out of date."""
    file, _, line = item.place.rpartition(":")
    return Place(file=file, line=int(line))


def _not_met(cell: Cell, own: Sequence[Expectation]) -> str:
    item = next((item for item in own if cell.outcome in _MEETS[item.expect]), None)
    if item is None:
        return f"{own[0].place} expects it {_WORDS[own[0].expect]}; it {_HOW.get(cell.outcome, 'failed')}"
    wanted = item.cause.value if item.cause else "a failure"
    found = cell.cause.category.value if cell.cause else "a failure of no known cause"
    return f"{item.place} expects {wanted}, this is {found}"
