"""Columns -> one cell per test and device, and which devices reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import CPU, Column
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixDevice:
    """A column of the matrix, whatever evidence it has."""

    name: str
    planned: bool  # gpumatrix.yml or the command line names it
    require: Evidence
    capability: ComputeCapability | None  # None: of no known GPU, or the CPU
    architecture: str | None
    reported: Evidence  # the strongest of its results; NONE if there are none

    @property
    def met(self) -> bool:
        """Whether it has results of the evidence that it requires."""
        return self.reported.strength >= max(self.require.strength, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """The cell that counts, and those of weaker evidence that it was chosen over."""

    cell: Cell
    lost: tuple[Cell, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """What one run says: tests by devices."""

    devices: tuple[MatrixDevice, ...]  # the plan's in its order, others by name, the CPU last
    cells: Mapping[str, Mapping[str, Resolved]]  # by test, then by device

    def cell(self, test: str, device: str) -> Cell | None:
        """The cell that counts, or None."""
        resolved = self.cells.get(test, {}).get(device)
        return resolved.cell if resolved else None


def build_matrix(config: Config, columns: Sequence[Column]) -> Matrix:
    """Merge the columns of each device. The order of columns and of their cells does not matter."""
    by_device: dict[str, list[Column]] = {}
    for column in columns:
        by_device.setdefault(column.device, []).append(column)
    cells: dict[str, dict[str, Resolved]] = {}
    for device, own in by_device.items():
        for test, candidates in _candidates(own).items():
            cells.setdefault(test, {})[device] = _resolve(candidates)
    planned = {device.name: device for device in config.devices}
    others = sorted(by_device.keys() - planned.keys(), key=lambda name: (name == CPU, name))
    devices = [_planned_device(config, name, by_device.get(name, ())) for name in planned]
    devices += [_other_device(name, by_device[name]) for name in others]
    return Matrix(
        devices=tuple(devices),
        cells={
            test: {device.name: cells[test][device.name] for device in devices if device.name in cells[test]}
            for test in sorted(cells)
        },
    )


def _planned_device(config: Config, name: str, columns: Iterable[Column]) -> MatrixDevice:
    device = next(device for device in config.devices if device.name == name)
    return MatrixDevice(
        name=name,
        planned=True,
        require=device.require,
        capability=device.profile.capability,
        architecture=device.profile.architecture,
        reported=_reported(columns),
    )


def _other_device(name: str, columns: Sequence[Column]) -> MatrixDevice:
    capability = None if name == CPU else _capability(name, columns)
    return MatrixDevice(
        name=name,
        planned=False,
        require=Evidence.NATIVE,
        capability=capability,
        architecture=_architecture(capability),
        reported=_reported(columns),
    )


def _capability(name: str, columns: Iterable[Column]) -> ComputeCapability | None:
    """By the profile that the name spells, else by what the strongest run recorded of its own GPU."""
    try:
        return catalogue.load().resolve(name).capability
    except GpuMatrixError:  # a name of the user's own: then the native run knows
        native = (column for column in columns if column.evidence is Evidence.NATIVE)
        found = sorted({c.facts.gpu_compute_capability for c in native} - {None})  # type: ignore[type-var]
        return found[0] if len(found) == 1 else None


def _architecture(capability: ComputeCapability | None) -> str | None:
    if capability is None:
        return None
    try:
        return catalogue.load().limits(capability).architecture
    except GpuMatrixError:  # newer than the catalogue: no scope may speak of its family
        return None


def _reported(columns: Iterable[Column]) -> Evidence:
    found = {
        _evidence(cell, column)
        for column in columns
        for cell in column.cells.values()
        if cell.outcome is not Outcome.NOT_RUN
    }
    return max(found, key=lambda evidence: evidence.strength, default=Evidence.NONE)


def _candidates(columns: Iterable[Column]) -> dict[str, list[tuple[int, Cell]]]:
    """Each test's cells with the strength of their evidence; a cell that did not run has none."""
    found: dict[str, list[tuple[int, Cell]]] = {}
    for column in columns:
        for test, cell in column.cells.items():
            evidence = _evidence(cell, column)
            strength = 0 if cell.outcome is Outcome.NOT_RUN else evidence.strength
            if cell.outcome in (Outcome.NOT_RUN, Outcome.UNKNOWN):
                evidence = Evidence.NONE
            shown = cell if cell.evidence is evidence else replace(cell, evidence=evidence)
            found.setdefault(test, []).append((strength, shown))
    return found


def _evidence(cell: Cell, column: Column) -> Evidence:
    """The weaker of what the cell and its column claim."""
    if cell.evidence is column.evidence:
        return cell.evidence
    return min(cell.evidence, column.evidence, key=lambda evidence: evidence.strength)


def _resolve(candidates: Sequence[tuple[int, Cell]]) -> Resolved:
    """Native beats emulated beats compiled; but a failure of any evidence beats an unknown."""
    if len(candidates) == 1:
        return Resolved(cell=candidates[0][1])
    ordered = [cell for _, cell in sorted(candidates, key=_rank, reverse=True)]
    best = ordered[0]
    if best.outcome is Outcome.UNKNOWN:
        best = next((cell for cell in ordered if cell.standing is Standing.BAD), best)
    return Resolved(cell=best, lost=tuple(cell for cell in ordered if cell is not best))


def _rank(candidate: tuple[int, Cell]) -> tuple[object, ...]:
    strength, cell = candidate
    text = (cell.outcome.value, cell.strict, cell.message, cell.details, cell.requirement or "", repr(cell))
    return (strength, cell.standing.weight, *text)
