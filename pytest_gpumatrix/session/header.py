"""What the head of a session says: the device that runs here, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware.sizes import format_size
from pytest_gpumatrix.session.columns import Columns, Running
from pytest_gpumatrix.session.loaded import torch_line
from pytest_gpumatrix.session.machine import Machine
from pytest_gpumatrix.session.matrix import Matrix


def header_lines(machine: Machine, matrix: Matrix, columns: Columns) -> list[str]:
    """The device, by name and UUID, and what the columns are."""
    emulated, compiled = columns.emulated, columns.compiled
    how = "each launch is held against" if columns.running.posed is not None else "compiled for"
    lines = [
        f"gpumatrix: {_here(columns.running, machine)}",
        f"gpumatrix: emulated when this has run: {listed(emulated)}" if emulated else "",
        f"gpumatrix: {how} {listed(compiled)}" if compiled else "",
        torch_line() or "",
    ]
    if not matrix.devices:
        lines.append("gpumatrix: no gpumatrix.yml and no --gpu-devices: this machine's column only")
    lines += [f"gpumatrix: note: {note}" for note in columns.notes]
    return [line for line in lines if line]


def listed(devices: Sequence[gate.Device]) -> str:
    """Devices with their profiles: "rtx3090 (RTX 3090)"."""
    return ", ".join(f"{device.name} ({device.profile.name})" for device in devices)


def _here(running: Running, machine: Machine) -> str:
    if running.gpu is None:
        here = f"no GPU here ({machine.why_no_gpu}): column cpu"
        return here + (", Triton by its interpreter" if machine.interpreting else "")
    gpu, driver = running.gpu, machine.detection.driver_version
    card = f"{gpu.name} ({gpu.capability}, {format_size(gpu.memory)}, {gpu.uuid}), driver {driver}"
    if running.posed is None or running.view is None:
        return f"{running.device} = {card}"
    profile = running.view.profile
    return f"{running.device} = {profile.name} ({running.posed}, {format_size(profile.memory)}), posed by {card}"
