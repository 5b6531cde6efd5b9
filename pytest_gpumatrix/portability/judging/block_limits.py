"""What one block of a launch takes, held against the limits of a device. Exactly the limit is within it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_gpumatrix.hardware.profile import Feature, Profile
from pytest_gpumatrix.portability.compiling.compile_job import Compiled
from pytest_gpumatrix.portability.compiling.cubin import KernelFigures
from pytest_gpumatrix.portability.judging.judgement import FITS, Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import CudaLaunch

_TENSOR_MEMORY_COLUMNS = 512  # of an SM, on every device that has it. Source: PTX ISA, "Tensor Memory Addressing"
# Registers are given to warps of 32 threads in units of 256, from the four partitions of an SM. Source: NVIDIA's
# occupancy calculator (Nsight Compute), "Warp allocation granularity" and "Register allocation unit size".
_WARP, _REGISTER_UNIT, _PARTITIONS = 32, 256, 4
_PORTABLE_CLUSTER = 8  # blocks. Source: CUDA Programming Guide, "Thread Block Clusters"


def judge_triton(compiled: Compiled, profile: Profile, known: Sequence[Profile]) -> Judgement:
    """A Triton kernel's block: the compiler states what it takes. ``known``: the profiles to name one that has more."""
    excess = _shared_excess(compiled.shared_memory or 0, profile, known) or _thread_excess(
        compiled.threads or 0, profile
    )
    if excess is None and (compiled.tensor_memory or 0) > _TENSOR_MEMORY_COLUMNS:
        excess = f"needs {compiled.tensor_memory:,} columns of tensor memory, an SM has {_TENSOR_MEMORY_COLUMNS}"
    return FITS if excess is None else Judgement(fit=Fit.FAILS, reason=excess, tuner_survives=True)


def judge_cuda(
    launch: CudaLaunch, kernels: dict[str, KernelFigures] | None, profile: Profile, known: Sequence[Profile]
) -> Judgement:
    """A launch of one of the kernels of a program that was compiled for the device; None: they could not be read."""
    excess = (
        _shared_excess(launch.dynamic_shared_memory, profile, known)
        or _thread_excess(launch.threads, profile)
        or _cluster_excess(launch, profile)
    )
    if excess is not None:
        return Judgement(fit=Fit.FAILS, reason=excess)
    candidates = _candidates(launch, kernels or {})
    if not candidates:
        return Judgement(fit=Fit.UNKNOWN, reason=f"what {launch.kernel or 'the kernel'} takes could not be read")
    excesses = [_kernel_excess(launch, figures, profile, known) for figures in candidates]
    over = [excess for excess in excesses if excess is not None]
    if len(over) == len(excesses):
        return Judgement(fit=Fit.FAILS, reason=over[0])
    if over:
        return Judgement(
            fit=Fit.UNKNOWN, reason=f"which kernel of the program was launched is not known; one of them {over[0]}"
        )
    return _judge_grid(launch, profile)


def _candidates(launch: CudaLaunch, kernels: dict[str, KernelFigures]) -> list[KernelFigures]:
    if launch.kernel is None:
        return list(kernels.values())
    return [kernels[launch.kernel]] if launch.kernel in kernels else []


def _kernel_excess(
    launch: CudaLaunch, figures: KernelFigures, profile: Profile, known: Sequence[Profile]
) -> str | None:
    if figures.max_threads is not None and launch.threads > figures.max_threads:
        return f"needs {launch.threads:,} threads per block, its launch bounds allow {figures.max_threads:,}"
    warps = -(-launch.threads // _WARP)
    per_warp = -(-figures.registers * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    has = profile.limits.registers_per_block
    if per_warp and warps > _PARTITIONS * (has // _PARTITIONS // per_warp):
        return f"needs {warps * per_warp:,} registers per block, {profile.name} has {has:,}"
    return _shared_excess(launch.dynamic_shared_memory + figures.static_shared_memory, profile, known)


def _judge_grid(launch: CudaLaunch, profile: Profile) -> Judgement:
    """One block fits on an SM. How many do at once is not computed, nor how large a cluster the device takes."""
    if launch.cooperative and (profile.sm_count is None or launch.blocks > profile.sm_count):
        has = "an unknown number of" if profile.sm_count is None else f"{profile.sm_count:,}"
        return Judgement(
            fit=Fit.UNKNOWN,
            reason=f"a cooperative launch of {launch.blocks:,} blocks must be resident at once on {has} SMs of "
            f"{profile.name}",
        )
    if launch.blocks_per_cluster > _PORTABLE_CLUSTER:
        return Judgement(
            fit=Fit.UNKNOWN,
            reason=f"a cluster of {launch.blocks_per_cluster} blocks is over the {_PORTABLE_CLUSTER} that every GPU "
            "with clusters takes",
        )
    return FITS


def _cluster_excess(launch: CudaLaunch, profile: Profile) -> str | None:
    if launch.blocks_per_cluster > 1 and Feature.CLUSTERS not in profile.limits.features:
        return f"needs thread block clusters (of {launch.blocks_per_cluster}), {profile.name} has none"
    return None


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
