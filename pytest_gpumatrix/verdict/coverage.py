"""What was not run: missing devices, tests that no device ran, and the devices' columns in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.verdict.matrix import Matrix
from pytest_gpumatrix.verdict.reproduce import reproduce_command
from pytest_gpumatrix.verdict.verdict import DeviceSummary, MissingDevice, NeverRunRow


def missing_devices(matrix: Matrix, broken: Mapping[str, str]) -> tuple[MissingDevice, ...]:
    """Devices of the plan without results of the required evidence, or with a results file that counts as none."""
    found: list[MissingDevice] = []
    for device in matrix.devices:
        if not device.planned or (device.met and device.name not in broken):
            continue
        if device.name in broken:
            reason = broken[device.name]
        elif device.reported is Evidence.NONE:
            reason = "no results"
        else:
            weaker = device.reported.value
            reason = f"only {weaker} results; {device.require.value} is required (`require: {weaker}` would take them)"
        found.append(MissingDevice(device=device.name, reason=reason))
    return tuple(found)


def summaries(matrix: Matrix, missing: tuple[MissingDevice, ...]) -> tuple[DeviceSummary, ...]:
    """Each device's cells that count, by evidence and outcome."""
    counts: dict[str, dict[Evidence, Counter[Outcome]]] = {device.name: {} for device in matrix.devices}
    for row in matrix.cells.values():
        for device, item in row.items():
            counts[device].setdefault(item.cell.evidence, Counter())[item.cell.outcome] += 1
    why = {item.device: item.reason for item in missing}
    return tuple(
        DeviceSummary(device=device, counts=counts[device.name], missing=why.get(device.name))
        for device in matrix.devices
    )


def never_run(matrix: Matrix, *, fail_on: frozenset[FailOn]) -> tuple[NeverRunRow, ...]:
    """Tests that are good, bad or compiled on no device. Ask only when every device met what it requires.

    One that is unknown somewhere may have run there: it is reported as unknown.
    """
    planned = [device.name for device in matrix.devices if device.planned]
    found: list[NeverRunRow] = []
    for test in matrix.cells:
        row = _counted(test, matrix)
        if any(_ran(cell) or cell.outcome in (Outcome.COMPILED, Outcome.UNKNOWN) for cell in row.values()):
            continue
        devices = planned or list(row)
        found.append(
            NeverRunRow(
                test=test,
                red=FailOn.NEVER_RUN in fail_on,
                why={name: resolved.cell for name, resolved in matrix.cells[test].items()},
                reproduce=reproduce_command(test, devices),
            )
        )
    return tuple(found)


def never_run_natively(matrix: Matrix) -> int:
    """How many tests no device ran natively."""
    return sum(
        not any(_ran(cell) and cell.evidence is Evidence.NATIVE for cell in _counted(test, matrix).values())
        for test in matrix.cells
    )


def _counted(test: str, matrix: Matrix) -> dict[str, Cell]:
    """The test's cells on devices. The CPU counts as one for an ordinary test."""
    row = matrix.cells[test]
    every = [cell for resolved in row.values() for cell in (resolved.cell, *resolved.lost)]
    ordinary = all(cell.requirement is None for cell in every)
    return {name: resolved.cell for name, resolved in row.items() if ordinary or name != CPU}


def _ran(cell: Cell) -> bool:
    """Good or bad; an unexpected pass ran as well, strict or not."""
    return cell.standing in (Standing.GOOD, Standing.BAD) or cell.outcome is Outcome.XPASSED
