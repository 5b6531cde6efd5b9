"""What a case of the ground truth is: one launch, the kernels that it is recorded as, and what it must compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from pytest_gpumatrix.portability.tape.launch import Extent

Shape = int | Extent


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """The arguments of a launch on one device, and what it must leave in one of them."""

    arguments: tuple[Any, ...]
    result: torch.Tensor
    expected: torch.Tensor  # on the CPU


@dataclass(frozen=True, kw_only=True, slots=True)
class TritonCase:
    """One launch of a Triton kernel."""

    id: str
    kernel: Any  # what ``@triton.jit`` and the decorators above it left
    work: Callable[[str], Work]  # by torch's name of the device
    meta: Mapping[str, Any] = field(default_factory=dict)  # constexpr parameters and options of the compiler
    grid: tuple[int, ...] = (1,)


@dataclass(frozen=True, kw_only=True, slots=True)
class CudaCase:
    """One launch of a CUDA C++ kernel, ``kernel(unsigned *out)``: each of its threads adds one to ``out[0]``."""

    id: str
    source: str
    arch: str = "sm_90"
    target: str = "cubin"
    code_type: str = "c++"
    options: Mapping[str, Any] = field(default_factory=dict)  # of cuda-core, beside the architecture
    grid: Shape = 1  # of clusters, where there are any, as cuda-core has it
    block: Shape = 32
    blocks_as_clusters: int = 1  # blocks for each one of the grid, where the code has them be clusters
    cluster: Shape | None = None
    shared: int = 0  # dynamic, in bytes
    static: int = 0  # what the source has of shared memory beside it
    opt_in: int | None = None  # the kernel's own limit of dynamic shared memory is raised to this
    non_portable: bool = False  # the kernel is allowed clusters of more than 8
    cooperative: bool = False

    @property
    def threads(self) -> int:
        """In the whole grid."""
        return math.prod(self.blocks) * self.blocks_as_clusters * math.prod(in_three(self.block))

    @property
    def blocks(self) -> Extent:
        """In the grid, as the launch has it."""
        (x, y, z), (a, b, c) = in_three(self.grid), in_three(self.cluster or 1)
        return x * a, y * b, z * c


Case = TritonCase | CudaCase


def in_three(shape: Shape) -> Extent:
    """In x, y and z."""
    return (shape, 1, 1) if isinstance(shape, int) else shape
