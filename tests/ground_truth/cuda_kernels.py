"""CUDA C++ sources of the ground truth. Every thread of ``kernel`` adds one to ``out[0]``, whatever else it does."""

from __future__ import annotations

_KERNEL = """\
{before}
extern "C" __global__ void {bounds} kernel(unsigned *out) {{
    {body}
    atomicAdd(out, 1u);
}}
"""
_HAND_WRITTEN = """\
.version 8.0
.target {target}
.address_size 64
.visible .entry kernel(.param .u64 out) {{
    .reg .u64 place;
    ld.param.u64 place, [out];
    cvta.to.global.u64 place, place;
    {instruction}
    red.global.add.u32 [place], 1;
    ret;
}}
"""


def kernel(body: str = "", bounds: str = "", before: str = "") -> str:
    """A kernel that does ``body`` first. ``bounds``: attributes such as ``__launch_bounds__(256)``."""
    return _KERNEL.format(body=body, bounds=bounds, before=before)


def assembly(instruction: str, bounds: str = "") -> str:
    """A kernel with a line of PTX, which may use registers of 8, 16 and 32 bits, a float and a predicate: b h r f p."""
    registers = ".reg .b8 b; .reg .b16 h; .reg .b32 r; .reg .f32 f; .reg .pred p; mov.b32 r, 0; mov.f32 f, 0f3F800000;"
    return kernel(f'asm volatile("{{ {registers} {instruction} }}" ::: "memory");', bounds)


def hand_written(target: str, instruction: str = "") -> str:
    """The same kernel in PTX."""
    return _HAND_WRITTEN.format(target=target, instruction=instruction)


def static_shared(size: int) -> str:
    """``size`` bytes of static shared memory, written and read at both ends."""
    return kernel(
        f"__shared__ volatile unsigned char room[{size}];"
        f"room[0] = room[{size} - 1] = 1; __syncthreads(); if (room[0] + room[{size} - 1] != 2) return;"
    )


def dynamic_shared(size: int, static: int = 0) -> str:
    """``size`` bytes of dynamic shared memory, of which the last is written and read, beside static ones."""
    own = f"__shared__ volatile unsigned char own[{static}]; own[{static} - 1] = 1;" if static else ""
    last = f"room[{size} - 1]"
    return kernel(
        f"{own} {last} = 1; __syncthreads(); if ({last} != 1) return;",
        before="extern __shared__ volatile unsigned char room[];",
    )


def live_values(count: int, bounds: str = "") -> str:
    """So many values that are all needed at the end: volatile loads keep their order, and the last is used first."""
    loads = 'asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(value[i]) : "l"(out + 1 + i));'
    return kernel(
        f"unsigned value[{count}];\n#pragma unroll\nfor (int i = 0; i < {count}; ++i) {loads}\n"
        f"unsigned mixed = value[{count - 1}];\n#pragma unroll\n"
        f"for (int i = {count - 2}; i >= 0; --i) mixed = mixed * 31u + value[i];\n"
        "if (mixed == 12345u) return;",
        bounds,
    )


def local_array(size: int) -> str:
    """``size`` bytes of each thread's own memory, by places that the compiler cannot know."""
    return kernel(
        f"volatile unsigned char own[{size}]; own[out[1] % {size}] = 1; own[{size} - 1 - out[1]] = 2;"
        f"if (own[{size} - 1] != 2) return;"
    )


def constants(size: int) -> str:
    """``size`` bytes of constant memory."""
    return kernel(f"if (table[out[1] % {size}]) return;", before=f"__constant__ unsigned char table[{size}];")


GRID_SYNC = kernel(
    # A barrier of the whole grid, without the header of cooperative groups: it ends only where all blocks are resident.
    """\
    if (threadIdx.x == 0) {
        atomicAdd(out + 1, 1u);
        while (atomicAdd(out + 1, 0u) < gridDim.x) {}
    }
    __syncthreads();"""
)
