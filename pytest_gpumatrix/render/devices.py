"""The GPUs that are here, and those that are known, for ``gpumatrix devices``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_gpumatrix.hardware.detection import Detection, Gpu
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.hardware.sizes import format_size
from pytest_gpumatrix.render.text import clean, pad, wrap

_HEADING = "(capability, memory, shared memory per block, features):"


def render_devices(detection: Detection, known: Sequence[Profile], *, width: int = 80) -> str:
    """Lines for a terminal."""
    here = (part for line in _here(detection) for part in wrap(line, width, hanging="  "))
    return (
        "\n".join([*here, "", "Known profiles, for gpumatrix.yml and --gpu-devices", _HEADING, *_table(known)]) + "\n"
    )


def render_devices_json(detection: Detection, known: Sequence[Profile]) -> str:
    """The same for scripts."""
    here = {
        "driver_version": detection.driver_version,
        "reason": detection.reason,
        "notes": list(detection.notes),
        "ambiguity": detection.ambiguity,
        "gpus": [
            {
                "index": gpu.index,
                "name": gpu.name,
                "uuid": gpu.uuid,
                "capability": str(gpu.capability),
                "memory": gpu.memory,
                "mig": gpu.mig,
                "profile": gpu.profile.id,
            }
            for gpu in detection.gpus
        ],
    }
    return json.dumps({"schema": 1, "here": here, "profiles": [_facts(profile) for profile in known]}, indent=2) + "\n"


def _here(detection: Detection) -> Iterator[str]:
    if not detection.gpus:
        yield f"No GPU here: {clean(detection.reason or 'none was found')}"
    for gpu in detection.gpus:
        yield clean(_line(gpu))
    if detection.gpus:
        yield f"Driver {clean(detection.driver_version or 'unknown')}"
    for note in (*detection.notes, *filter(None, [detection.ambiguity])):
        yield f"Note: {clean(note)}"


def _line(gpu: Gpu) -> str:
    part = "MIG instance, " if gpu.mig else ""
    size = format_size(gpu.memory)
    return f"cuda:{gpu.index} = {gpu.name} ({gpu.capability}, {part}{size}, {gpu.uuid}): profile {gpu.profile.id}"


def _table(known: Sequence[Profile]) -> Iterator[str]:
    names = max((len(profile.id) for profile in known), default=0)
    for profile in sorted(known, key=lambda profile: (profile.capability, profile.id)):
        limits = profile.limits
        features = " ".join(sorted(feature.value for feature in limits.features))
        yield (
            f"  {pad(profile.id, names)}  {limits.capability!s:<4}  {format_size(profile.memory):>9}  "
            f"{limits.shared_memory_per_block:>7,} B  {features}"
        ).rstrip()


def _facts(profile: Profile) -> dict[str, Any]:
    limits = profile.limits
    return {
        "id": profile.id,
        "name": profile.name,
        "nvml_names": list(profile.nvml_names),
        "capability": str(limits.capability),
        "architecture": limits.architecture,
        "memory": profile.memory,
        "sm_count": profile.sm_count,
        "bandwidth": profile.bandwidth,
        "shared_memory_per_block": limits.shared_memory_per_block,
        "shared_memory_per_sm": limits.shared_memory_per_sm,
        "features": sorted(feature.value for feature in limits.features),
    }
