"""What is known of a kind of GPU."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pytest_gpumatrix.hardware.capability import ComputeCapability


class Feature(str, Enum):
    """What a GPU can do that others cannot. Looked up per capability, never by a threshold."""

    BF16 = "bf16"
    FP8 = "fp8"
    FP4 = "fp4"
    TMA = "tma"
    WGMMA = "wgmma"
    CLUSTERS = "clusters"
    TCGEN05 = "tcgen05"


# Of every compute capability: blocks of a grid and threads of a block, in x, y and z.
# Source: CUDA Programming Guide 13, "Compute Capabilities", table 30.
LARGEST_GRID = (2**31 - 1, 65_535, 65_535)
LARGEST_BLOCK = (1_024, 1_024, 64)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchitectureLimits:
    """What holds for every GPU of one compute capability."""

    capability: ComputeCapability
    architecture: str  # the family's name: "Hopper"
    shared_memory_per_block: int  # bytes a block may ask for by opt-in
    shared_memory_per_sm: int  # bytes
    registers_per_block: int  # 32-bit registers
    registers_per_sm: int
    registers_per_thread: int
    threads_per_block: int
    threads_per_sm: int
    blocks_per_sm: int
    features: frozenset[Feature]
    blocks_per_cluster: int | None = None  # by opt-in; 8 are sure where there are clusters; None where more is unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """One kind of GPU. ``note`` says so where it was guessed from the capability alone."""

    id: str  # "rtx-3090"
    name: str  # for people: "RTX 3090"
    nvml_names: tuple[str, ...]  # what NVML calls it: "NVIDIA GeForce RTX 3090"
    memory: int  # bytes
    sm_count: int | None  # None where unknown
    bandwidth: int | None  # bytes per second; None where unknown
    limits: ArchitectureLimits
    note: str | None = None

    @property
    def capability(self) -> ComputeCapability:
        """The compute capability."""
        return self.limits.capability

    @property
    def architecture(self) -> str:
        """The family's name, as scopes use it: "Hopper"."""
        return self.limits.architecture
