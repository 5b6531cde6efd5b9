"""What ``torch.cuda.get_device_properties`` and Triton's driver say of a posed device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_gpumatrix.hardware.profile import Profile


class PosedProperties:
    """In the place of ``torch.cuda._CudaDeviceProperties``: the device's values, and the card's for all else."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"can't set attribute {name!r}")  # nor could one of PyTorch's own

    def __repr__(self) -> str:
        return f"_CudaDeviceProperties({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def torch_values(profile: Profile) -> dict[str, Any]:
    """The catalogue's figures by the names that PyTorch has for them. What is not here is the real card's."""
    limits = profile.limits
    values = {
        "name": cuda_name(profile),
        "major": limits.capability.major,
        "minor": limits.capability.minor,
        "total_memory": profile.memory,
        "multi_processor_count": profile.sm_count,
        "shared_memory_per_block_optin": limits.shared_memory_per_block,
        "shared_memory_per_multiprocessor": limits.shared_memory_per_sm,
        "regs_per_multiprocessor": limits.registers_per_sm,
        "max_threads_per_block": limits.threads_per_block,
        "max_threads_per_multi_processor": limits.threads_per_sm,
    }
    return {name: value for name, value in values.items() if value is not None}


def triton_values(profile: Profile) -> dict[str, int]:
    """The same by the names that ``triton.runtime.driver.active.utils.get_device_properties`` has for them."""
    values = {
        "max_shared_mem": profile.limits.shared_memory_per_block,
        "max_num_regs": profile.limits.registers_per_block,
        "multiprocessor_count": profile.sm_count,
    }
    return {name: value for name, value in values.items() if value is not None}


def cuda_name(profile: Profile) -> str:
    """What CUDA calls the device: as NVML does, where that is known."""
    return profile.nvml_names[0] if profile.nvml_names else profile.name


def posed(real: Any, values: Mapping[str, Any]) -> PosedProperties:
    """The properties of the card with the device's values where the card has such a property."""
    own = {name: getattr(real, name) for name in dir(real) if not name.startswith("_")}
    own = {name: value for name, value in own.items() if not callable(value)}
    told = {name: value for name, value in values.items() if name in own}
    if own.get("gcnArchName") == own.get("name") and "gcnArchName" in own:  # CUDA builds repeat the name there
        told["gcnArchName"] = values["name"]
    return PosedProperties(own | told)
