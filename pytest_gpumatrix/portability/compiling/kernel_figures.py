"""What one kernel takes and how it works, as its machine code and its assembler tell."""

from __future__ import annotations

from enum import Enum

import msgspec

from pytest_gpumatrix.portability.tape.launch import Extent


class TensorPath(str, Enum):
    """By which instructions a kernel uses the tensor cores; where by several, the newest."""

    NONE = "none"
    MMA = "mma"  # by a warp: HMMA, IMMA, DMMA, ...
    WGMMA = "wgmma"  # by a warp group, from shared memory: 9.0
    TCGEN05 = "tcgen05"  # by one thread, into tensor memory: 10.x, 11.0


class KernelFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What one kernel takes and how it works. A count that is None is not known: it is never taken for 0."""

    # From the cubin.
    static_shared_memory: int  # bytes per block
    registers: int  # per thread
    barriers: int = 0  # of a block, as __syncthreads() takes one
    max_threads: int | None = None  # per block, by __launch_bounds__; None: the GPU's own limit
    required_block: Extent | None = None  # threads per block, by __block_size__; None: the launch says
    cluster: Extent | None = None  # blocks per cluster, by __cluster_dims__; None: the launch says
    needs_cluster: bool = False  # it is not launched without a cluster: by __cluster_dims__, of a size or of any
    max_cluster: int | None = None  # blocks per cluster that __launch_bounds__ allows; None: the GPU's own limit
    blocks_are_clusters: bool = False  # by __block_size__: a launch's grid is one of clusters
    # From the assembler's report.
    stack: int | None = None  # bytes per thread
    spill_stores: int | None = None  # bytes per thread
    spill_loads: int | None = None  # bytes per thread
    # From the machine code: instructions as they stand there, however often each is executed.
    tensor_path: TensorPath | None = None
    async_copies: int | None = None  # from global into shared memory, by a thread (cp.async)
    bulk_copies: int | None = None  # from global into shared memory, in bulk or by a tensor map (TMA)
    atomics: int | None = None  # that the memory itself does; of shared memory none is counted, nor below
    compare_and_swaps: int | None = None  # as a loop around them does what the memory cannot
