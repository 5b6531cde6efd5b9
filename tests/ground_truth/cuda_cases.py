"""The launches of CUDA C++ through cuda-core."""

from __future__ import annotations

from collections.abc import Iterator

from tests.ground_truth import cuda_kernels as sources
from tests.ground_truth.case import CudaCase

KIB = 1024
OPT_IN = 227 * KIB  # what a block of 9.0 gets by opt-in
PLAIN = sources.kernel()


def cases() -> Iterator[CudaCase]:
    """All of them."""
    yield from _shared_memory()
    yield from _threads_and_registers()
    yield from _grids()
    yield from _clusters()
    yield from _cooperative()
    yield from _architectures()
    yield from _instructions()


def _shared_memory() -> Iterator[CudaCase]:
    for size in (48 * KIB, 48 * KIB + 1, OPT_IN):
        yield CudaCase(id=f"dynamic-{size}-without-opt-in", source=sources.dynamic_shared(size), shared=size)
    for size in (48 * KIB + 1, OPT_IN - 1, OPT_IN, OPT_IN + 1, 228 * KIB):
        yield CudaCase(id=f"dynamic-{size}", source=sources.dynamic_shared(size), shared=size, opt_in=size)
    yield CudaCase(
        id="dynamic-over-its-opt-in", source=sources.dynamic_shared(128 * KIB), shared=128 * KIB, opt_in=64 * KIB
    )
    for size in (47 * KIB, 48 * KIB, 48 * KIB + 1, 64 * KIB):
        yield CudaCase(id=f"static-{size}", source=sources.static_shared(size))
    for static, size in [
        (8 * KIB, OPT_IN - 8 * KIB),
        (8 * KIB, OPT_IN - 8 * KIB + 1),
        (8 * KIB, OPT_IN - 8 * KIB + 128),
        (48 * KIB, OPT_IN - 48 * KIB),
    ]:
        source = sources.dynamic_shared(size, static)
        yield CudaCase(id=f"static-{static}-dynamic-{size}", source=source, shared=size, opt_in=size)
    for static, size in [(16 * KIB, 32 * KIB), (16 * KIB, 32 * KIB + 1)]:
        source = sources.dynamic_shared(size, static)
        yield CudaCase(id=f"static-{static}-dynamic-{size}-without-opt-in", source=source, shared=size, static=static)
    for size in (64 * KIB, 64 * KIB + 1):
        yield CudaCase(id=f"constants-{size}", source=sources.constants(size))
    yield CudaCase(id="local-1024", source=sources.local_array(1024))


def _threads_and_registers() -> Iterator[CudaCase]:
    for threads in (1, 1024, 1025):
        yield CudaCase(id=f"threads-{threads}", source=PLAIN, block=threads)
    for threads in (256, 512):
        source = sources.kernel(bounds="__launch_bounds__(256)")
        yield CudaCase(id=f"bounds-256-threads-{threads}", source=source, block=threads)
    for threads in (64, 128, 256):
        source = sources.kernel(bounds="__block_size__((128, 1, 1))")
        yield CudaCase(id=f"block-size-128-threads-{threads}", source=source, block=threads)
    for name, block in [("128x1", (128, 1, 1)), ("64x2", (64, 2, 1)), ("2x64", (2, 64, 1))]:
        source = sources.kernel(bounds="__block_size__((64, 2, 1))")
        yield CudaCase(id=f"block-size-64x2-threads-{name}", source=source, block=block)
    for values, threads in [(20, 1024), (100, 256), (100, 512), (100, 1024), (220, 256), (220, 288), (220, 512)]:
        yield CudaCase(id=f"values-{values}-threads-{threads}", source=sources.live_values(values), block=threads)
    yield CudaCase(
        id="values-100-bounds-1024-threads-1024", source=sources.live_values(100, "__launch_bounds__(1024)"), block=1024
    )
    for registers, threads in [(16, 1024), (64, 1024), (72, 896), (72, 897), (72, 1024), (128, 512), (128, 513)]:
        yield CudaCase(
            id=f"values-220-registers-{registers}-threads-{threads}",
            source=sources.live_values(220),
            options={"max_register_count": registers},
            block=threads,
        )


def _grids() -> Iterator[CudaCase]:
    for name, grid in [("x", (65_536, 1, 1)), ("y", (1, 65_535, 1)), ("z", (1, 1, 65_535))]:
        yield CudaCase(id=f"grid-{name}-within", source=PLAIN, grid=grid, block=1)
    for name, grid in [("y", (1, 65_536, 1)), ("z", (1, 1, 65_536))]:
        yield CudaCase(id=f"grid-{name}-over", source=PLAIN, grid=grid, block=1)
    for name, block in [("y-1024", (1, 1024, 1)), ("z-64", (1, 1, 64)), ("z-65", (1, 1, 65)), ("32x33", (32, 33, 1))]:
        yield CudaCase(id=f"block-{name}", source=PLAIN, block=block)


def _clusters() -> Iterator[CudaCase]:
    for blocks in (2, 3, 8):
        yield CudaCase(id=f"cluster-{blocks}", source=PLAIN, grid=4, cluster=blocks)
    yield CudaCase(id="cluster-2x2x2", source=PLAIN, grid=(2, 2, 2), cluster=(2, 2, 2))
    for blocks in (9, 16, 17, 32):
        yield CudaCase(id=f"cluster-{blocks}-portable", source=PLAIN, grid=2, cluster=blocks)
        yield CudaCase(id=f"cluster-{blocks}-allowed", source=PLAIN, grid=2, cluster=blocks, non_portable=True)
    fixed = sources.kernel(bounds="__cluster_dims__(2, 1, 1)")
    yield CudaCase(id="fixed-cluster-2-given-2", source=fixed, grid=2, cluster=2)
    yield CudaCase(id="fixed-cluster-2-given-4", source=fixed, grid=2, cluster=4)
    yield CudaCase(id="fixed-cluster-2-given-none-even-grid", source=fixed, grid=4)
    yield CudaCase(id="fixed-cluster-2-given-none-odd-grid", source=fixed, grid=3)
    yield CudaCase(id="fixed-cluster-2-given-1x2", source=fixed, grid=(2, 2, 1), cluster=(1, 2, 1))
    upright = sources.kernel(bounds="__cluster_dims__(1, 2, 1)")
    for grid in ((3, 2, 1), (2, 3, 1)):
        yield CudaCase(id="fixed-cluster-1x2-grid-{}x{}".format(*grid), source=upright, grid=grid)
    for allowed in (False, True):
        source = sources.kernel(bounds="__cluster_dims__(16, 1, 1)")
        name = f"fixed-cluster-16-{'allowed' if allowed else 'portable'}"
        yield CudaCase(id=name, source=source, grid=32, non_portable=allowed)
    some = sources.kernel(bounds="__cluster_dims__()")
    yield CudaCase(id="some-cluster-given-none", source=some, grid=4)
    yield CudaCase(id="some-cluster-given-2", source=some, grid=4, cluster=2)
    source = sources.kernel(bounds="__block_size__((32, 1, 1), (2, 1, 1))")
    yield CudaCase(id="blocks-as-clusters-of-2-odd-grid", source=source, grid=3, blocks_as_clusters=2)
    for blocks in (2, 8):
        yield CudaCase(
            id=f"cluster-{blocks}-all-shared",
            source=sources.dynamic_shared(OPT_IN),
            grid=2,
            cluster=blocks,
            shared=OPT_IN,
            opt_in=OPT_IN,
        )


def _cooperative() -> Iterator[CudaCase]:
    # 132 SMs, each of which holds 32 blocks or 2,048 threads.
    for blocks, threads in [(132, 1024), (264, 1024), (265, 1024), (4224, 32), (4225, 32)]:
        yield CudaCase(
            id=f"cooperative-{blocks}x{threads}", source=sources.GRID_SYNC, grid=blocks, block=threads, cooperative=True
        )
    for blocks in (132, 133):
        yield CudaCase(
            id=f"cooperative-{blocks}-all-shared",
            source=sources.dynamic_shared(OPT_IN),
            grid=blocks,
            shared=OPT_IN,
            opt_in=OPT_IN,
            cooperative=True,
        )

    # As many blocks as an SM's registers, shared memory (with 1 KiB that is kept of each block) and barriers are for.
    for blocks in (264, 265):
        yield CudaCase(
            id=f"cooperative-{blocks}x256-registers-128",
            source=sources.live_values(220),
            options={"max_register_count": 128},
            grid=blocks,
            block=256,
            cooperative=True,
        )
    half = OPT_IN // 2 - KIB // 2
    for blocks, size in [(264, half), (265, half), (132, half + 1), (133, half + 1)]:
        yield CudaCase(
            id=f"cooperative-{blocks}-shared-{size}",
            source=sources.dynamic_shared(size),
            grid=blocks,
            shared=size,
            opt_in=size,
            cooperative=True,
        )
    for blocks in (528, 529):
        source = sources.assembly("bar.sync 15, 32;")
        yield CudaCase(id=f"cooperative-{blocks}-barriers-16", source=source, grid=blocks, cooperative=True)


def _architectures() -> Iterator[CudaCase]:
    for arch in ("75", "80", "86", "89", "90", "90a", "100", "100a", "100f", "103", "120"):
        yield CudaCase(id=f"machine-code-of-{arch}", source=PLAIN, arch=f"sm_{arch}")
        yield CudaCase(id=f"ptx-of-{arch}", source=PLAIN, arch=f"compute_{arch}", target="ptx")
    for target in ("sm_80", "sm_90", "sm_90a", "sm_100"):
        source = sources.hand_written(target)
        yield CudaCase(id=f"hand-written-{target}", source=source, code_type="ptx")
    for target in ("sm_90", "sm_90a"):
        source = sources.hand_written(target, "wgmma.fence.sync.aligned;")
        yield CudaCase(id=f"hand-written-{target}-wgmma", source=source, code_type="ptx", arch=target, block=128)


def _instructions() -> Iterator[CudaCase]:
    for name, instruction in [
        ("e4m3", "cvt.rn.satfinite.e4m3x2.f32 h, f, f;"),
        ("e5m2", "cvt.rn.satfinite.e5m2x2.f32 h, f, f;"),
        ("cluster-barrier", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"),
        ("griddepcontrol", "griddepcontrol.wait;"),
        ("elect", "elect.sync r|p, 0xffffffff;"),
        ("wgmma", "wgmma.fence.sync.aligned;"),
        ("redux-float", "redux.sync.min.f32 f, f, 0xffffffff;"),
        ("e2m1", "cvt.rn.satfinite.e2m1x2.f32 b, f, f;"),
        ("tcgen05", "tcgen05.fence::before_thread_sync;"),
        ("add-f32x2", "{ .reg .b64 d; mov.b64 d, {f, f}; add.rn.f32x2 d, d, d; }"),
        (
            "mxf4-mma",
            "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {f,f,f,f},{r,r,r,r},{r,r},{f,f,f,f};",
        ),
        ("e4m3-mma", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {f,f,f,f},{r,r,r,r},{r,r},{f,f,f,f};"),
    ]:
        yield CudaCase(id=f"instruction-{name}", source=sources.assembly(instruction))
    for arch in ("sm_90", "sm_90a"):
        source = sources.assembly("setmaxnreg.dec.sync.aligned.u32 40;", "__launch_bounds__(128, 1)")
        yield CudaCase(id=f"instruction-setmaxnreg-{arch}", source=source, arch=arch, block=128)
    yield CudaCase(
        id="instruction-wgmma-sm_90a", source=sources.assembly("wgmma.fence.sync.aligned;"), arch="sm_90a", block=128
    )
    for kind in ("bf16", "f16"):
        add = f"{{ .reg .b16 h; mov.b16 h, 0; atom.global.add.noftz.{kind} h, [%0], h; }}"
        source = sources.kernel(f'asm volatile("{add}" :: "l"(out + 1));')
        yield CudaCase(id=f"instruction-atomic-{kind}", source=source)
