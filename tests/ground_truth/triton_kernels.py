"""Triton kernels around the limits of a device: one kernel, many configurations."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,assignment"
# ruff: noqa: N803
# Triton has no types, and its parameters are not Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@triton.jit
def product(
    a,
    b,
    c,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SUM: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """c = a @ b, row-major, with pointers; K is a multiple of BLOCK_K."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    at_a = a + rows[:, None] * K + inner[None, :]
    at_b = b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUM)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total, input_precision=PRECISION, out_dtype=SUM)
        at_a += BLOCK_K
        at_b += BLOCK_K * N
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def product_of_descriptors(
    a, b, c, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPECIALIZE: tl.constexpr
):
    """The same by tensor descriptors that the host made."""
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=SPECIALIZE):
        total = tl.dot(a.load([row, k]), b.load([k, column]), total)
    c.store([row, column], total)


@triton.jit
def product_making_descriptors(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """The same by tensor descriptors that are made on the device."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        total = tl.dot(left.load([row, k]), right.load([k, column]), total)
    out.store([row, column], total)


@triton.autotune(
    configs=[triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=s, num_warps=8) for s in (5, 6)],
    key=["K"],
)
@triton.jit
def tuned_too_large(a, b, c, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """No configuration has room on 9.0: each stage takes 48 KiB."""
    product(a, b, c, BLOCK_M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, tl.float32, "tf32")


@triton.autotune(
    configs=[triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=s, num_warps=8) for s in (2, 5)],
    key=["K"],
)
@triton.jit
def tuned_one_left(a, b, c, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Of two configurations one has room on 9.0."""
    product(a, b, c, BLOCK_M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, tl.float32, "tf32")


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((64, 4), (128, 64))], key=["n"]
)
@triton.jit
def tuned_too_many_warps(x, out, n, BLOCK: tl.constexpr):
    """Of two configurations one has too many threads."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 64}, num_warps=3)], key=["n"])
@triton.jit
def tuned_until_it_ends(x, out, n, BLOCK: tl.constexpr):
    """The second configuration is a mistake on any device."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


@triton.jit
def add_one(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


@triton.jit
def add_one_to_small(x, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 64, "at most 64")
    add_one(x, out, n, BLOCK)


@triton.jit
def sort_and_add_one(x, out, n, BLOCK: tl.constexpr):
    """Keeps a block in registers through a network of exchanges: many of them live at a time."""
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)) + 1.0)


@triton.jit
def through_type(x, out, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    """To a narrow type and back: the values are ones that every such type has."""
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at).to(TYPE).to(tl.float32) + 1.0)


@triton.jit
def sum_atomically(x, out, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    """Each program adds its block to the same places."""
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out + at, tl.load(x + at).to(TYPE))


@triton.jit
def assemble_one_input(x, out, n, INSTRUCTION: tl.constexpr, BLOCK: tl.constexpr):
    """A line of PTX that takes no part in the result, between a load and a store."""
    at = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(INSTRUCTION, "=f,f", [tl.load(x + at)], dtype=tl.float32, is_pure=False, pack=1)
    tl.store(out + at, value + 1.0)


@triton.jit
def dot_of_shapes(a, out, n, M: tl.constexpr, K: tl.constexpr, OTHER_K: tl.constexpr, N: tl.constexpr):
    """All ones times all ones: K in each place, where the shapes are such that it can be computed."""
    left = tl.full((M, K), 1.0, tl.float16)
    right = tl.full((OTHER_K, N), 1.0, tl.float16)
    total = tl.dot(left, right)
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, total - (K - 1))


@triton.jit
def scaled_dot(a, scales, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """FP8 with a scale of one for each 32: 9.0 has no such instruction, and the compiler widens the operands."""
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    left = tl.load(a + at)
    scale = tl.load(scales + tl.arange(0, M)[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
    at_right = tl.arange(0, K)[:, None] + tl.arange(0, N)[None, :] * K
    total = tl.dot_scaled(left, scale, "e4m3", tl.load(a + at_right), scale, "e4m3")
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], total)


@gluon.jit
def fill_rooms(x, out, n, SIZES: gl.constexpr):
    """Shared memory of SIZES floats each, all in use at a time: to the byte, as no pipelined loop would have it."""
    spread: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    linear: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    at = gl.arange(0, 64, layout=spread)
    value = gl.load(x + at)
    rooms = ()
    for i in gl.static_range(len(SIZES)):
        room = gl.allocate_shared_memory(gl.float32, [SIZES[i]], linear)
        room.slice(SIZES[i] - 64, 64).store(value)
        rooms = rooms + (room,)  # noqa: RUF005 - Gluon reads no starred expression
    total = gl.zeros([64], gl.float32, layout=spread)
    for i in gl.static_range(len(SIZES)):
        total += rooms[i].slice(SIZES[i] - 64, 64).load(spread)
    gl.store(out + at, total - value * (len(SIZES) - 1) + 1.0)
