"""The GPUs that CUDA would show to a process. By NVML: no CUDA context, no torch, never an exception."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_gpumatrix.hardware import catalogue, nvml, visibility
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Profile


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """A device that CUDA shows: a whole GPU, or a MIG instance."""

    index: int  # its number in CUDA, in this environment
    name: str  # as NVML has it; a MIG instance has a name of its own
    uuid: str  # "GPU-..." or "MIG-..."
    capability: ComputeCapability
    memory: int  # bytes, in total; of the instance, if it is one
    sm_count: int | None  # as NVML or the profile has it; None where unknown
    mig: bool
    profile: Profile


@dataclass(frozen=True, kw_only=True, slots=True)
class Detection:
    """The visible GPUs in CUDA's order; where there are none, the ``reason``."""

    gpus: tuple[Gpu, ...]
    reason: str | None
    driver_version: str | None
    notes: tuple[str, ...] = ()  # what was left out, or made up, and why
    ambiguity: str | None = None  # why it is not known which card bears which number; None where it is


def detect(environ: Mapping[str, str]) -> Detection:
    """The GPUs that CUDA would show to a process with this environment."""
    reading = nvml.read()
    if reading.reason is not None:
        return Detection(gpus=(), reason=reading.reason, driver_version=reading.driver_version)
    visible = visibility.choose(environ.get("CUDA_VISIBLE_DEVICES"), [gpu.card for gpu in reading.gpus])
    gpus: list[Gpu] = []
    notes = list(visible.notes)
    for index, place in enumerate(visible.places):
        found = _gpu(index, place, reading.gpus[place.card])
        if isinstance(found, str):
            notes.append(found)
            continue
        gpus.append(found)
        if found.profile.note is not None and found.profile.note not in notes:
            notes.append(found.profile.note)
    return Detection(
        gpus=tuple(gpus),
        reason=None if gpus else "; ".join(notes),
        driver_version=reading.driver_version,
        notes=tuple(notes),
        ambiguity=_ambiguity(reading.gpus, visible, environ.get("CUDA_DEVICE_ORDER")),
    )


def _gpu(index: int, place: visibility.Place, listed: nvml.ListedGpu) -> Gpu | str:
    """The device at a place, or why it cannot be had."""
    if listed.facts is None or listed.capability is None:
        return listed.problem or f"{listed.card.uuid} could not be read"
    facts = listed.facts if place.instance is None else listed.instances[place.instance]
    profile = catalogue.load().for_gpu(facts.name, listed.capability, memory=facts.memory, sm_count=facts.sm_count)
    return Gpu(
        index=index,
        name=facts.name,
        uuid=facts.uuid,
        capability=listed.capability,
        memory=facts.memory,
        sm_count=facts.sm_count if facts.sm_count is not None else profile.sm_count,
        mig=place.instance is not None,
        profile=profile,
    )


def _ambiguity(gpus: tuple[nvml.ListedGpu, ...], visible: visibility.Visible, device_order: str | None) -> str | None:
    """CUDA counts the fastest card first, by a rule of its own, unless CUDA_DEVICE_ORDER says otherwise."""
    names = sorted({gpu.facts.name if gpu.facts is not None else "one that cannot be read" for gpu in gpus})
    if len(names) < 2 or device_order == "PCI_BUS_ID" or not visible.by_index or not visible.places:
        return None
    return (
        f"this machine has different cards ({', '.join(names)}), and only CUDA knows which one it counts "
        "as 0: set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name cards by UUID in CUDA_VISIBLE_DEVICES"
    )
