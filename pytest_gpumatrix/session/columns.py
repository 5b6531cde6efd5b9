"""Which column a process runs, and which are derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_gpumatrix.config.device import Device
from pytest_gpumatrix.errors import GpuMatrixError, InfraError
from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.detection import Detection, Gpu
from pytest_gpumatrix.portability.emulation.can_pose import why_not
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """The column that this process runs: a GPU's, or the CPU's."""

    device: str  # as named in the matrix, a profile's id, or "cpu"
    gpu: Gpu | None
    view: gate.Device | None  # the GPU as a requirement sees it, or the device that it poses as; None on the CPU
    evidence: Evidence = Evidence.NATIVE

    @property
    def posed(self) -> ComputeCapability | None:
        """What code is told, where the GPU poses as another."""
        return self.view.profile.capability if self.view is not None and self.evidence is Evidence.EMULATED else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """The columns of a session."""

    running: Running
    compiled: tuple[gate.Device, ...]  # of a GPU that poses: the device itself, which its launches are held against
    emulated: tuple[gate.Device, ...] = ()
    notes: tuple[str, ...] = ()


def running_column(detection: Detection, matrix: Sequence[Device]) -> Running:
    """The column of the first visible GPU, named as the matrix names it; the CPU's where there is none."""
    if not detection.gpus:
        return Running(device=CPU, gpu=None, view=None)
    gpu = detection.gpus[0]
    name = next((device.name for device in matrix if is_here(device, gpu)), gpu.profile.id)
    view = gate.Device(name=name, profile=gpu.profile, memory=gpu.memory, count=alike(detection.gpus))
    return Running(device=name, gpu=gpu, view=view)


def posing_column(gpu: Gpu, device: gate.Device) -> Running:
    """The column of a device that a GPU poses as."""
    return Running(device=device.name, gpu=gpu, view=device, evidence=Evidence.EMULATED)


def choose_columns(detection: Detection, matrix: Sequence[Device], *, emulate: bool = False) -> Columns:
    """The column to run, and the matrix's other devices: emulated where that is asked for and the GPU can pose as
    the device, else compiled from the launches of the running column.
    """
    running = running_column(detection, matrix)
    notes = list(detection.notes)
    if running.gpu is not None and all(device.name != running.device for device in matrix):
        notes.append(
            f"{running.gpu.name} is none of the matrix's devices: it runs as a column of its own, {running.device}"
        )
    emulated, compiled = [], []
    for device in (as_device(device) for device in matrix if device.name != running.device):
        if running.gpu is None or not emulate:
            compiled.append(device)
        elif (reason := why_not(device, running.gpu, alike(detection.gpus))) is not None:
            compiled.append(device)
            notes.append(f"{device.name} is compiled, and not emulated: {reason}")
        else:
            emulated.append(device)
    return Columns(running=running, compiled=tuple(compiled), emulated=tuple(emulated), notes=tuple(notes))


def as_device(device: Device) -> gate.Device:
    """A device of the matrix as a requirement sees it."""
    return gate.Device(name=device.name, profile=device.profile, memory=device.profile.memory, count=device.count)


def alike(gpus: Sequence[Gpu]) -> int:
    """How many of the visible GPUs are of the first one's kind."""
    return sum(other.name == gpus[0].name for other in gpus)


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
