"""Which column a process runs, and which are derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_gpumatrix.config.device import Device
from pytest_gpumatrix.errors import GpuMatrixError, InfraError
from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware.detection import Detection, Gpu
from pytest_gpumatrix.record.column import CPU


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """The column that this process runs: a GPU's, or the CPU's."""

    device: str  # as named in the matrix, a profile's id, or "cpu"
    gpu: Gpu | None
    view: gate.Device | None  # the GPU as a requirement sees it; None on the CPU


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """The columns of a session."""

    running: Running
    compiled: tuple[gate.Device, ...]
    notes: tuple[str, ...] = ()


def running_column(detection: Detection, matrix: Sequence[Device]) -> Running:
    """The column of the first visible GPU, named as the matrix names it; the CPU's where there is none."""
    if not detection.gpus:
        return Running(device=CPU, gpu=None, view=None)
    gpu = detection.gpus[0]
    name = next((device.name for device in matrix if is_here(device, gpu)), gpu.profile.id)
    alike = sum(other.name == gpu.name for other in detection.gpus)
    view = gate.Device(name=name, profile=gpu.profile, memory=gpu.memory, count=alike)
    return Running(device=name, gpu=gpu, view=view)


def choose_columns(detection: Detection, matrix: Sequence[Device]) -> Columns:
    """The column to run, and the matrix's other devices, which are compiled from its launches."""
    running = running_column(detection, matrix)
    notes = list(detection.notes)
    if running.gpu is not None and all(device.name != running.device for device in matrix):
        notes.append(
            f"{running.gpu.name} is none of the matrix's devices: it runs as a column of its own, {running.device}"
        )
    compiled = tuple(
        gate.Device(name=device.name, profile=device.profile, memory=device.profile.memory, count=device.count)
        for device in matrix
        if device.name != running.device
    )
    return Columns(running=running, compiled=compiled, notes=tuple(notes))


def native_column(detection: Detection, matrix: Sequence[Device]) -> Columns:
    """The column of the one named device, which must be here: InfraError says what is here instead."""
    if len(matrix) != 1:
        raise GpuMatrixError("--gpu-native takes exactly one device: add --gpu-devices=<name>")
    device = matrix[0]
    if not detection.gpus:
        raise InfraError(f"{device.name} ({device.profile.name}) is not here: {detection.reason}")
    if not is_here(device, detection.gpus[0]):
        gpu = detection.gpus[0]
        wanted = " or ".join(f'"{name}"' for name in device.profile.nvml_names)
        raise InfraError(
            f"{device.name} is not here: the first GPU is {gpu.name!r} ({gpu.capability}), "
            f"and {device.profile.id} is {wanted} ({device.profile.capability})"
        )
    return Columns(running=running_column(detection, matrix), compiled=(), notes=tuple(detection.notes))


def is_here(device: Device, gpu: Gpu) -> bool:
    """Whether a GPU is that very device: its name is one of the profile's, and the capability is equal."""
    return gpu.name in device.profile.nvml_names and gpu.capability == device.profile.capability


def refuse_mixed_workers(detection: Detection) -> None:
    """Under xdist all workers would use the first GPU, or any: on a box with different cards that is no column."""
    kinds = sorted({gpu.name for gpu in detection.gpus})
    if len(kinds) > 1:
        raise GpuMatrixError(
            f"-n on a box with different GPUs ({', '.join(kinds)}) would mix their results: "
            "name one kind by CUDA_VISIBLE_DEVICES, or run without -n"
        )
