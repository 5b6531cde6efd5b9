"""How the blocks of a launch are laid out, held against the limits of a device: clusters, residence, the grid."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_gpumatrix.hardware.profile import LARGEST_BLOCK, LARGEST_GRID, Feature, Profile
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.judging.judgement import Judgement, fails, unknown
from pytest_gpumatrix.portability.judging.residence import blocks_per_sm
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, Extent

_PORTABLE_CLUSTER = 8  # blocks. Source: CUDA Programming Guide, "Thread Block Clusters"


def judge_cluster(blocks: int, profile: Profile, *, allowed: bool | None) -> Judgement | None:
    """A cluster of so many blocks, where it does not surely run.

    ``allowed``: whether the kernel had opted in to more than are portable; None where that is not known.
    """
    if blocks <= 1:
        return None
    if Feature.CLUSTERS not in profile.limits.features:
        return fails(f"needs thread block clusters (of {blocks}), {profile.name} has none")
    limit = profile.limits.blocks_per_cluster
    if limit is not None and blocks > limit:
        return fails(f"needs clusters of {blocks} blocks, {profile.name} takes {limit}")
    if blocks <= _PORTABLE_CLUSTER:
        return None
    if allowed is False:
        return fails(
            f"asks for clusters of {blocks} blocks, and the kernel was allowed {_PORTABLE_CLUSTER}: set its "
            "NON_PORTABLE_CLUSTER_SIZE_ALLOWED before the launch"
        )
    if allowed is None:
        return unknown(
            f"whether the kernel was allowed its clusters of {blocks} blocks, over the {_PORTABLE_CLUSTER} that need "
            "no leave, is not known"
        )
    if limit is None:
        return unknown(
            f"a cluster of {blocks} blocks is over the {_PORTABLE_CLUSTER} that every GPU with clusters takes"
        )
    return None


def cluster_excess(launch: CudaLaunch, figures: KernelFigures) -> str | None:
    """What the code says of its clusters against the launch; one that says nothing gets what the code says."""
    asked, required = launch.cluster, figures.cluster
    if asked is None and required is None:
        return "is launched without clusters, its __cluster_dims__ ask for some" if figures.needs_cluster else None
    if asked is not None and required is not None and asked != required:
        return f"is launched in clusters of {shown(asked)} blocks, its __cluster_dims__ make it {shown(required)}"
    cluster = asked or required or (1, 1, 1)
    if figures.max_cluster is not None and math.prod(cluster) > figures.max_cluster:
        return f"is launched in clusters of {math.prod(cluster)}, its launch bounds allow {figures.max_cluster}"
    if figures.blocks_are_clusters or not any(map(int.__mod__, launch.grid, cluster)):
        return None
    return f"is launched in a grid of {shown(launch.grid)} blocks, which clusters of {shown(cluster)} do not divide"


def judge_residence(launch: CudaLaunch, figures: KernelFigures, profile: Profile) -> Judgement | None:
    """A cooperative launch, whose blocks must all be resident at once, where they are not surely."""
    if not launch.cooperative:
        return None
    blocks = f"a cooperative launch of {launch.blocks:,} blocks"
    if math.prod(launch.cluster or figures.cluster or (1,)) > 1:
        return unknown(f"how many clusters {profile.name} holds at once, and so whether {blocks} fits, is not known")
    if profile.sm_count is None:
        return unknown(f"how many SMs {profile.name} has, and so whether {blocks} fits, is not known")
    shared = launch.dynamic_shared_memory + figures.static_shared_memory
    each = blocks_per_sm(launch.threads, shared, figures, profile.limits)
    if launch.blocks <= each * profile.sm_count:
        return None
    return fails(
        f"is {blocks}, {profile.name} holds {each * profile.sm_count:,} at once ({each} on each of its "
        f"{profile.sm_count:,} SMs)"
    )


def judge_grid(grid: Sequence[int] | None) -> Judgement | None:
    """A grid that no GPU takes: an interpreter takes any."""
    excess = grid_excess(grid or ())
    return fails(excess) if excess is not None else None


def grid_excess(grid: Sequence[int]) -> str | None:
    """A grid that no GPU takes. Where its blocks are clusters there are at least as many blocks."""
    return _axis_excess(grid, LARGEST_GRID, "blocks")


def shape_excess(block: Extent) -> str | None:
    """A block that no GPU takes, however many threads it has in all."""
    return _axis_excess(block, LARGEST_BLOCK, "threads per block")


def emptiness(launch: CudaLaunch) -> str | None:
    """A launch of nothing, which the driver refuses. Source: CUDA Driver API, cuLaunchKernel."""
    if min(*launch.grid, *launch.block, *(launch.cluster or ())) >= 1:
        return None
    return f"is launched in a grid of {shown(launch.grid)} blocks of {shown(launch.block)} threads: none at all"


def shown(extent: Extent) -> str:
    """For messages: "128x1x1"."""
    return "x".join(f"{size}" for size in extent)


def _axis_excess(sizes: Sequence[int], limits: Sequence[int], what: str) -> str | None:
    for axis, limit, size in zip("xyz", limits, sizes, strict=False):
        if size > limit:
            return f"needs {size:,} {what} in {axis}, every GPU takes {limit:,}"
    return None
