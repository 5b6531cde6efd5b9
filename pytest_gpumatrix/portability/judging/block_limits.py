"""What one block of a launch takes, held against the limits of a device. Exactly the limit is within it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.compiling.compile_job import Compiled
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.judging.judgement import FITS, Fit, Judgement, fails, unknown
from pytest_gpumatrix.portability.judging.launch_limits import (
    cluster_excess,
    emptiness,
    grid_excess,
    judge_cluster,
    judge_residence,
    shape_excess,
    shown,
)
from pytest_gpumatrix.portability.judging.residence import registers_of_block
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, Extent

_TENSOR_MEMORY_COLUMNS = 512  # of an SM, on every device that has it. Source: PTX ISA, "Tensor Memory Addressing"
# Static and dynamic shared memory of a block, in bytes, without opt-in. Source: CUDA Programming Guide, "Shared Memory"
_WITHOUT_OPT_IN = 48 * 1024


def judge_triton(compiled: Compiled, profile: Profile, known: Sequence[Profile], *, cooperative: bool) -> Judgement:
    """A Triton kernel's block. ``known``: the profiles among which to name one that has more.

    Triton itself asks before it launches, and its autotuner passes over what does not fit; clusters aside.
    """
    figures = next(iter((compiled.kernels or {}).values()), None)
    threads, static = compiled.threads or 0, figures.static_shared_memory if figures is not None else 0
    excess = _shared_excess((compiled.shared_memory or 0) + static, profile, known) or _thread_excess(threads, profile)
    if excess is None and (compiled.tensor_memory or 0) > _TENSOR_MEMORY_COLUMNS:
        excess = f"needs {compiled.tensor_memory:,} columns of tensor memory, an SM has {_TENSOR_MEMORY_COLUMNS}"
    if excess is None and figures is not None:
        excess = _bounds_excess((threads, 1, 1), figures) or _register_excess(threads, figures, profile)
    if excess is not None:
        return fails(excess, tuner_survives=True)
    cluster = judge_cluster(compiled.blocks_per_cluster or 1, profile, allowed=True)  # Triton's launcher sees to it
    if cluster is not None:
        return cluster
    if figures is None:
        return unknown("how many registers it takes could not be read")
    if cooperative:
        return unknown("its blocks must all be resident at once, and of a Triton kernel not all grids are known")
    return FITS


def judge_cuda(
    launch: CudaLaunch, kernels: dict[str, KernelFigures] | None, profile: Profile, known: Sequence[Profile]
) -> Judgement:
    """A launch of one of the kernels of a program that was compiled for the device; None: they could not be read."""
    excess = (
        emptiness(launch)
        or _shared_excess(launch.dynamic_shared_memory, profile, known)
        or _thread_excess(launch.threads, profile)
        or shape_excess(launch.block)
        or grid_excess(launch.grid)
        or _opt_in_excess(launch)
    )
    if excess is not None:
        return fails(excess)
    candidates = candidates_of(launch, kernels or {})
    if not candidates:
        return unknown(f"what {launch.kernel or 'the kernel'} takes could not be read")
    found = [_judge_kernel(launch, figures, profile, known) for figures in candidates.values()]
    failing = next((one for one in found if one.fit is Fit.FAILS), None)
    if failing is not None and any(one.fit is not Fit.FAILS for one in found):
        return unknown(f"which kernel of the program was launched is not known; one of them {failing.reason}")
    return failing or next((one for one in found if one.fit is Fit.UNKNOWN), FITS)


def candidates_of(launch: CudaLaunch, kernels: dict[str, KernelFigures]) -> dict[str, KernelFigures]:
    """Those of a program's kernels that may be the one that was launched."""
    if launch.kernel is None:
        return kernels
    return {launch.kernel: kernels[launch.kernel]} if launch.kernel in kernels else {}


def _judge_kernel(launch: CudaLaunch, figures: KernelFigures, profile: Profile, known: Sequence[Profile]) -> Judgement:
    excess = (
        _bounds_excess(launch.block, figures)
        or _register_excess(launch.threads, figures, profile)
        or _shared_excess(launch.dynamic_shared_memory + figures.static_shared_memory, profile, known)
        or cluster_excess(launch, figures)
    )
    if excess is not None:
        return fails(excess)
    blocks = math.prod(launch.cluster or figures.cluster or (1,))
    return (
        judge_cluster(blocks, profile, allowed=launch.non_portable_clusters)
        or judge_residence(launch, figures, profile)
        or _judge_opt_in(launch, figures)
        or FITS
    )


def _bounds_excess(block: Extent, figures: KernelFigures) -> str | None:
    threads = math.prod(block)
    if figures.max_threads is not None and threads > figures.max_threads:
        return f"needs {threads:,} threads per block, its launch bounds allow {figures.max_threads:,}"
    if figures.required_block is not None and block != figures.required_block:
        return f"is launched in blocks of {shown(block)} threads, its code requires {shown(figures.required_block)}"
    return None


def _register_excess(threads: int, figures: KernelFigures, profile: Profile) -> str | None:
    needs, has = registers_of_block(threads, figures.registers), profile.limits.registers_per_block
    return f"needs {needs:,} registers per block, {profile.name} has {has:,}" if needs > has else None


def _opt_in_excess(launch: CudaLaunch) -> str | None:
    allowed = launch.shared_memory_opt_in
    if allowed is None or launch.dynamic_shared_memory <= allowed:
        return None
    return (
        f"asks for {launch.dynamic_shared_memory:,} B of dynamic shared memory per block, and the kernel was allowed "
        f"{allowed:,} B: raise its MAX_DYNAMIC_SHARED_SIZE_BYTES before the launch"
    )


def _judge_opt_in(launch: CudaLaunch, figures: KernelFigures) -> Judgement | None:
    shared = launch.dynamic_shared_memory + figures.static_shared_memory
    if launch.shared_memory_opt_in is not None or not launch.dynamic_shared_memory or shared <= _WITHOUT_OPT_IN:
        return None
    return unknown(
        f"whether the kernel was allowed its {shared:,} B of shared memory per block, over the {_WITHOUT_OPT_IN:,} B "
        "that need no leave, is not known"
    )


def _thread_excess(threads: int, profile: Profile) -> str | None:
    limit = profile.limits.threads_per_block
    return f"needs {threads:,} threads per block, {profile.name} takes {limit:,}" if threads > limit else None


def _shared_excess(shared: int, profile: Profile, known: Sequence[Profile]) -> str | None:
    limit = profile.limits.shared_memory_per_block
    if shared <= limit:
        return None
    reason = f"needs {shared:,} B of shared memory per block, {profile.name} has {limit:,} B"
    any_has = any(other.limits.shared_memory_per_block >= shared for other in known)
    return reason if any_has else f"{reason}, and no known GPU has that much"
