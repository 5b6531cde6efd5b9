"""What was not run: missing devices, tests that no device ran, and the devices' columns in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from pytest_gpumatrix.config.fail_on import FailOn
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.verdict.expected import Settlement
from pytest_gpumatrix.verdict.matrix import Matrix, Resolved
from pytest_gpumatrix.verdict.reproduce import reproduce_command
from pytest_gpumatrix.verdict.verdict import DeviceSummary, MissingDevice, NeverRunRow

# Good or bad; an unexpected pass ran as well, strict or not.
_RAN = frozenset(
    {
        Outcome.PASSED,
        Outcome.XFAILED,
        Outcome.XPASSED,
        Outcome.FAILED,
        Outcome.ERROR,
        Outcome.CRASHED,
        Outcome.TIMEOUT,
    }
)
_MAY_HAVE_RUN = _RAN | {Outcome.COMPILED, Outcome.UNKNOWN}


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
    counts = Counter(
        (device, item.cell.evidence, item.cell.outcome) for row in matrix.cells.values() for device, item in row.items()
    )
    by_device: dict[str, dict[Evidence, dict[Outcome, int]]] = {device.name: {} for device in matrix.devices}
    for (device, evidence, outcome), count in counts.items():
        by_device[device].setdefault(evidence, {})[outcome] = count
    why = {item.device: item.reason for item in missing}
    return tuple(
        DeviceSummary(device=device, counts=by_device[device.name], missing=why.get(device.name))
        for device in matrix.devices
    )


def never_run(settlement: Settlement, *, fail_on: frozenset[FailOn]) -> tuple[NeverRunRow, ...]:
    """Tests that are good, bad or compiled on no device. Ask only when every device met what it requires.

    One that is unknown somewhere may have run there: it is reported as unknown. One that no device need run
    (``expect: skip`` on each of its devices) is not asked for.
    """
    matrix = settlement.matrix
    planned = [device.name for device in matrix.devices if device.planned]
    found: list[NeverRunRow] = []
    for test, row in matrix.cells.items():
        devices = list(_counted(row))
        if any(row[name].cell.outcome in _MAY_HAVE_RUN for name in devices):
            continue
        skipped = settlement.exempt.get(test, {})
        if devices and all(name in skipped for name in devices):
            continue
        found.append(
            NeverRunRow(
                test=test,
                red=FailOn.NEVER_RUN in fail_on,
                why={name: resolved.cell for name, resolved in row.items()},
                reproduce=reproduce_command(test, planned or list(row)),
            )
        )
    return tuple(found)


def never_run_natively(matrix: Matrix) -> int:
    """How many tests no device ran natively."""
    return sum(
        not any(row[name].cell.outcome in _RAN and row[name].cell.evidence is Evidence.NATIVE for name in _counted(row))
        for row in matrix.cells.values()
    )


def _counted(row: Mapping[str, Resolved]) -> Iterator[str]:
    """The devices of a test. The CPU counts as one for an ordinary test, and is looked at last."""
    for name in row:
        if name != CPU:
            yield name
    if CPU in row and all(c.requirement is None for item in row.values() for c in (item.cell, *item.lost)):
        yield CPU
