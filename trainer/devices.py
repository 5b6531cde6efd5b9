"""Which device the trainer runs on, and the compute capability of the cards it knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from trainer.errors import TrainerError
from trainer.kernels.registry import CPU, Capability

# https://developer.nvidia.com/cuda-gpus
CARDS: Mapping[str, Capability] = MappingProxyType(
    {
        "t4": (7, 5),
        "a100": (8, 0),
        "a10": (8, 6),
        "rtx3090": (8, 6),
        "rtx4090": (8, 9),
        "l40s": (8, 9),
        "h100": (9, 0),
        "h200": (9, 0),
        "b200": (10, 0),
        "rtx5090": (12, 0),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """Where tensors live. ``memory`` is in bytes; None where it sets no limit that we plan for."""

    torch_name: str  # what torch.device takes: "cuda:0", "cpu"
    name: str  # for people: "NVIDIA H200"
    capability: Capability | None  # None is the CPU
    memory: int | None


def default_dtype(capability: Capability | None) -> str:
    """The dtype that activations and matrix products use: bfloat16 from 8.0 on, else float32.

    float16 is no substitute on 7.5: it needs loss scaling, which this trainer does not have.
    """
    return "bfloat16" if capability is not None and capability >= (8, 0) else "float32"


def find_device(wanted: str) -> Device:
    """Resolve "auto", "cpu", "cuda" or "cuda:1". This is the first place that touches CUDA."""
    import torch

    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise TrainerError(f"no device {wanted!r}: write auto, cpu, cuda or cuda:N") from error
    if device.type == "cpu":
        return Device(torch_name="cpu", name="CPU", capability=CPU, memory=None)
    if device.type != "cuda":
        raise TrainerError(f"device {wanted!r} is not supported: write auto, cpu, cuda or cuda:N")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    index = device.index or 0
    if index >= count:
        raise TrainerError(f"device {wanted!r} is not here: PyTorch sees {count} CUDA GPUs (try --device cpu)")
    properties = torch.cuda.get_device_properties(index)
    return Device(
        torch_name=f"cuda:{index}",
        name=properties.name,
        capability=(properties.major, properties.minor),
        memory=properties.total_memory,
    )
