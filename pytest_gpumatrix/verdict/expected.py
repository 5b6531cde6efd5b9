"""Expectations held against the cells of a run: met, unexpected passes, stale ones."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.expectation import Expectation
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Outcome
from pytest_gpumatrix.verdict.change import has_word
from pytest_gpumatrix.verdict.matrix import Matrix, MatrixDevice, Resolved

_FAILED = (Outcome.FAILED, Outcome.ERROR)  # a crash or a hang is not the failure that "fail" speaks of


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """An expectation that no longer says anything."""

    expectation: Expectation
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """A matrix under the expectations that have not expired. The mappings are by test, then by device."""

    matrix: Matrix  # unexpected passes have become xpassed
    met: Mapping[str, Mapping[str, Expectation]]
    notes: Mapping[str, Mapping[str, str]]  # why a failure is not the expected one


@dataclass(frozen=True, kw_only=True, slots=True)
class _Settled:
    """One cell under the expectations that speak of it."""

    cell: Cell
    met: Expectation | None = None
    note: str = ""


def settle(config: Config, matrix: Matrix, today: datetime.date) -> Settlement:
    """Hold each cell against the expectations of its test and device."""
    live = [item for item in config.expectations if not item.expired(today)]
    cells: dict[str, Mapping[str, Resolved]] = dict(matrix.cells)
    met: dict[str, dict[str, Expectation]] = {}
    notes: dict[str, dict[str, str]] = {}
    for test, row in matrix.cells.items():
        own = [item for item in live if item.test.matches(test)]
        if not own:
            continue
        settled = {d.name: _settle(row[d.name].cell, d, own) for d in matrix.devices if d.name in row}
        cells[test] = {name: replace(row[name], cell=item.cell) for name, item in settled.items()}
        met[test] = {name: item.met for name, item in settled.items() if item.met}
        notes[test] = {name: item.note for name, item in settled.items() if item.note}
    return Settlement(matrix=replace(matrix, cells=cells), met=met, notes=notes)


def stale_expectations(config: Config, matrix: Matrix, today: datetime.date) -> tuple[Stale, ...]:
    """Expired ones, and those that match no test or no device of the matrix."""
    found: list[Stale] = []
    for item in config.expectations:
        if item.expired(today):
            found.append(Stale(expectation=item, reason=f"expired after {item.until}"))
        elif not any(item.test.matches(test) for test in matrix.cells):
            found.append(Stale(expectation=item, reason="matches no test"))
        elif not any(item.devices.selects(device.name, device.capability) for device in matrix.devices):
            found.append(Stale(expectation=item, reason="matches no device"))
    return tuple(found)


def _settle(cell: Cell, device: MatrixDevice, expectations: Iterable[Expectation]) -> _Settled:
    own = [item for item in expectations if item.devices.selects(device.name, device.capability)]
    if not own:
        return _Settled(cell=cell)
    if cell.outcome in _FAILED:
        met = next((item for item in own if item.cause is None or _category(cell) == item.cause), None)
        return _Settled(cell=cell, met=met, note="" if met else _other_cause(cell, own[0]))
    if cell.outcome is Outcome.PASSED and has_word(cell, device.require):
        first = own[0]
        message = f"passed, but {first.place} expects it to fail: {first.reason}".removesuffix(": ")
        strict = any(item.strict for item in own)
        return _Settled(cell=replace(cell, outcome=Outcome.XPASSED, strict=strict, message=message))
    return _Settled(cell=cell)


def _category(cell: Cell) -> object:
    return cell.cause.category if cell.cause else None


def _other_cause(cell: Cell, expectation: Expectation) -> str:
    wanted = expectation.cause.value if expectation.cause else "a failure"
    found = cell.cause.category.value if cell.cause else "a failure of no known cause"
    return f"{expectation.place} expects {wanted}, this is {found}"
