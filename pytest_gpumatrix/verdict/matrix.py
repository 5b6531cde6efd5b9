"""Columns -> one cell per test and device, and which devices reported."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_gpumatrix.config.config import Config
from pytest_gpumatrix.config.device import Device
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
    gpu_names: frozenset[str] = frozenset()  # what NVML called the GPUs of its native results

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
    """Merge the columns of each device. The order of columns and of their cells does not matter.

    A cell whose cause is the machine's says nothing of the code: it counts as unknown.
    """
    by_device: dict[str, list[Column]] = {device.name: [] for device in config.devices}
    planned = set(by_device)
    for column in columns:
        by_device.setdefault(column.device, []).append(column)
    others = sorted(by_device.keys() - planned, key=lambda name: (name == CPU, name))
    cells: dict[str, dict[str, Resolved]] = {test: {} for test in sorted({t for c in columns for t in c.cells})}
    for name in (*(device.name for device in config.devices), *others):
        for test, resolved in _resolved(by_device[name]):
            cells[test][name] = resolved
    devices = [_planned_device(device, by_device[device.name]) for device in config.devices]
    devices += [_other_device(name, by_device[name]) for name in others]
    return Matrix(devices=tuple(devices), cells=cells)


def _planned_device(device: Device, columns: Sequence[Column]) -> MatrixDevice:
    return MatrixDevice(
        name=device.name,
        planned=True,
        require=device.require,
        capability=device.profile.capability,
        architecture=device.profile.architecture,
        reported=_reported(columns),
        gpu_names=_gpu_names(columns),
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
        gpu_names=_gpu_names(columns),
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
    strongest = Evidence.NONE
    for column in sorted(columns, key=lambda column: column.evidence.strength, reverse=True):
        for cell in column.cells.values():
            if strongest.strength >= column.evidence.strength:
                break  # no cell is better known than its column
            if cell.outcome is not Outcome.NOT_RUN:
                strongest = max(strongest, _evidence(cell, column), key=lambda evidence: evidence.strength)
    return strongest


def _gpu_names(columns: Iterable[Column]) -> frozenset[str]:
    native = (column.facts.gpu_name for column in columns if column.evidence is Evidence.NATIVE)
    return frozenset(name for name in native if name)


def _resolved(columns: Sequence[Column]) -> Iterator[tuple[str, Resolved]]:
    """The cell of each test that counts for a device."""
    if len(columns) == 1:
        for test, cell in columns[0].cells.items():
            yield test, Resolved(cell=_counted(cell, columns[0]))
        return
    candidates: dict[str, list[tuple[int, Cell]]] = {}
    for column in columns:
        for test, cell in column.cells.items():
            # A cell that did not run has no strength; one that is unknown has that of the run that lost it.
            strength = 0 if cell.outcome is Outcome.NOT_RUN else _evidence(cell, column).strength
            candidates.setdefault(test, []).append((strength, _counted(cell, column)))
    for test, found in candidates.items():
        yield test, _resolve(found)


def _counted(cell: Cell, column: Column) -> Cell:
    """The cell as it counts: by no better evidence than its column's, and unknown if the machine is at fault."""
    outcome, evidence, cause = cell.outcome, cell.evidence, cell.cause
    if cause is not None and cause.infra and cell.standing is Standing.BAD:
        message = f"{outcome.value}: {cell.message}"
        return replace(cell, outcome=Outcome.UNKNOWN, evidence=Evidence.NONE, message=message)
    if outcome is Outcome.NOT_RUN or outcome is Outcome.UNKNOWN:
        counted = Evidence.NONE
    else:
        counted = _evidence(cell, column)
    return cell if counted is evidence else replace(cell, evidence=counted)


def _evidence(cell: Cell, column: Column) -> Evidence:
    """The weaker of what the cell and its column claim."""
    if cell.evidence is column.evidence:
        return cell.evidence
    return min(cell.evidence, column.evidence, key=lambda evidence: evidence.strength)


def _resolve(candidates: Sequence[tuple[int, Cell]]) -> Resolved:
    """Native beats emulated beats compiled; but a failure of any evidence beats an unknown."""
    if len(candidates) == 1:
        return Resolved(cell=candidates[0][1])
    distinct = len({strength for strength, _ in candidates}) == len(candidates)
    ordered = [cell for _, cell in sorted(candidates, key=_strength if distinct else _whole_rank, reverse=True)]
    best = ordered[0]
    if best.outcome is Outcome.UNKNOWN:
        best = next((cell for cell in ordered if cell.standing is Standing.BAD), best)
    return Resolved(cell=best, lost=tuple(cell for cell in ordered if cell is not best))


_strength: Callable[[tuple[int, Cell]], int] = operator.itemgetter(0)


def _whole_rank(candidate: tuple[int, Cell]) -> tuple[object, ...]:
    """A rank that two cells share only if they are equal: slow, and so for the few of equal strength."""
    strength, cell = candidate
    return (strength, cell.standing.weight, cell.outcome.value, repr(cell))
