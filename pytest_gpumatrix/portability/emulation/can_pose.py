"""Whether the GPU that is here can pose as a device of the matrix. Pure."""

from __future__ import annotations

from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware.detection import Gpu
from pytest_gpumatrix.hardware.sizes import format_size


def why_not(device: gate.Device, gpu: Gpu, here_count: int) -> str | None:
    """Why ``gpu`` cannot pose as the device, in one sentence; None if it can.

    A device may be less than the card in every respect, and more in none. ``here_count`` is how many of this card
    a process can be given.
    """
    there, here = device.profile.limits, gpu.profile.limits
    if there.capability > gpu.capability:
        return f"it is newer ({there.capability}) than the {gpu.name} here ({gpu.capability})"
    if device.memory > gpu.memory:
        return f"it has {format_size(device.memory)} of memory; the {gpu.name} here has {format_size(gpu.memory)}"
    if there.shared_memory_per_block > here.shared_memory_per_block:
        return (
            f"its blocks may have {there.shared_memory_per_block:,} B of shared memory; "
            f"those of the {gpu.name} here {here.shared_memory_per_block:,} B"
        )
    if lacking := sorted(feature.value for feature in there.features - here.features):
        return f"it has {', '.join(lacking)}, which the {gpu.name} here ({gpu.capability}) does not"
    if device.count > here_count:
        return f"it is {device.count} GPUs, and {here_count} of the {gpu.name} can be seen here"
    return None
