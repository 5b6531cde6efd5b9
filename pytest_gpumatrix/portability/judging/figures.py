"""What a kernel takes on a device, in numbers: small enough to keep for every kernel and device."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Status
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Kernel


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """Of one block of a launch. None is what is not known."""

    shared_memory: int | None  # bytes
    threads: int | None
    code: KernelFigures | None  # of the machine code


def figures_of(kernel: Kernel, compiled: Compiled) -> Figures | None:
    """None where nothing was compiled."""
    if compiled.status is not Status.COMPILED:
        return None
    kernels = compiled.kernels or {}
    if not isinstance(kernel, CudaProgram):
        code = next(iter(kernels.values()), None)
        return Figures(shared_memory=compiled.shared_memory, threads=compiled.threads, code=code)
    launch = kernel.launch
    name = launch.kernel if launch is not None else None
    code = kernels.get(name) if name is not None else next(iter(kernels.values())) if len(kernels) == 1 else None
    if launch is None or code is None:
        return Figures(shared_memory=None, threads=launch.threads if launch is not None else None, code=code)
    shared = launch.dynamic_shared_memory + code.static_shared_memory
    return Figures(shared_memory=shared, threads=launch.threads, code=code)
