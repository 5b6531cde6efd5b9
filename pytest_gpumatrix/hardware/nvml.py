"""What NVML says of this machine's GPUs. No exception: what cannot be read has its reason."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.visibility import Card, MigInstance

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """A device, whole or a MIG instance, as NVML reports it."""

    name: str
    uuid: str
    memory: int  # bytes, in total
    sm_count: int | None  # NVML tells it of MIG instances only


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedGpu:
    """A GPU of the machine. Either it has a ``problem``, or the rest of it was read."""

    card: Card
    problem: str | None = None
    capability: ComputeCapability | None = None
    facts: Facts | None = None
    instances: tuple[Facts, ...] = ()  # in the order of card.instances
    pci_bus_id: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """All GPUs, in the order of the PCI bus; or the ``reason`` why there are none."""

    gpus: tuple[ListedGpu, ...] = ()
    driver_version: str | None = None
    reason: str | None = None


def read() -> Reading:
    """Ask NVML for all GPUs."""
    answer = ask(_read, "list the GPUs")
    return Reading(reason=answer) if isinstance(answer, str) else answer


def ask(question: Callable[[Any], _Answer], what: str) -> _Answer | str:
    """What NVML answers a question, opened for it and let go of again; or the reason why it does not (do ``what``)."""
    try:
        import pynvml
    except ImportError as error:
        return f"NVML cannot be asked: {error}"
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return f"no NVIDIA driver answers: {error}"
    try:
        return question(pynvml)
    except pynvml.NVMLError as error:
        return f"NVML does not {what}: {error}"
    finally:
        _shut_down(pynvml)


def _shut_down(nvml: Any) -> None:
    with contextlib.suppress(nvml.NVMLError):  # what was read stands, whatever the driver says in parting
        nvml.nvmlShutdown()


def _read(nvml: Any) -> Reading:
    driver_version = nvml.nvmlSystemGetDriverVersion()
    count = nvml.nvmlDeviceGetCount()
    gpus = [_gpu(nvml, index) for index in range(count)]
    if all(gpu.pci_bus_id for gpu in gpus):
        gpus.sort(key=lambda gpu: gpu.pci_bus_id)  # NVML promises no order; CUDA counts along the bus
    reason = None if gpus else f"driver {driver_version} has no NVIDIA GPU to show"
    return Reading(gpus=tuple(gpus), driver_version=driver_version, reason=reason)


def _gpu(nvml: Any, index: int) -> ListedGpu:
    uuid = pci_bus_id = ""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        uuid = nvml.nvmlDeviceGetUUID(handle)
        pci_bus_id = nvml.nvmlDeviceGetPciInfo(handle).busId
        capability = ComputeCapability(*nvml.nvmlDeviceGetCudaComputeCapability(handle))
        facts = _facts(nvml, handle)
        mig_mode = _mig_mode(nvml, handle)
        parts = _instances(nvml, handle) if mig_mode else []
    except nvml.NVMLError as error:
        name = uuid or f"the GPU that NVML counts as {index}"
        return ListedGpu(card=Card(uuid=uuid), problem=f"{name} left out: {error}", pci_bus_id=pci_bus_id)
    card = Card(uuid=uuid, mig_mode=mig_mode, instances=tuple(instance for instance, _ in parts))
    return ListedGpu(
        card=card,
        capability=capability,
        facts=facts,
        instances=tuple(part for _, part in parts),
        pci_bus_id=pci_bus_id,
    )


def _facts(nvml: Any, handle: Any, sm_count: int | None = None) -> Facts:
    return Facts(
        name=nvml.nvmlDeviceGetName(handle),
        uuid=nvml.nvmlDeviceGetUUID(handle),
        memory=nvml.nvmlDeviceGetMemoryInfo(handle).total,
        sm_count=sm_count,
    )


def _mig_mode(nvml: Any, handle: Any) -> bool:
    try:
        current, _pending = nvml.nvmlDeviceGetMigMode(handle)
    except (nvml.NVMLError_NotSupported, nvml.NVMLError_FunctionNotFound):
        return False  # a card, or a driver, without MIG
    return bool(current == nvml.NVML_DEVICE_MIG_ENABLE)


def _instances(nvml: Any, handle: Any) -> list[tuple[MigInstance, Facts]]:
    """The MIG instances of a GPU; NVML leaves gaps in their numbers."""
    instances = []
    for number in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
        except nvml.NVMLError_NotFound:
            continue
        facts = _facts(nvml, part, nvml.nvmlDeviceGetAttributes(part).multiprocessorCount)
        instance = MigInstance(
            uuid=facts.uuid,
            gpu_instance=nvml.nvmlDeviceGetGpuInstanceId(part),
            compute_instance=nvml.nvmlDeviceGetComputeInstanceId(part),
        )
        instances.append((instance, facts))
    return instances
