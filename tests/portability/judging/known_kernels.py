"""Kernels of which it is known, from real GPUs or from their compilers, what other GPUs make of them."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# ruff: noqa: N803
# Triton has no types, and its parameters are not Python's.

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def matmul(
    a, b, c, M, N, K, am, ak, bk, bn, cm, cn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    at_a = a + rows[:, None] * am + inner[None, :] * ak
    at_b = b + inner[:, None] * bk + columns[None, :] * bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        left = tl.load(at_a, mask=inner[None, :] < K - step * BLOCK_K, other=0.0)
        right = tl.load(at_b, mask=inner[:, None] < K - step * BLOCK_K, other=0.0)
        total = tl.dot(left, right, total)
        at_a += BLOCK_K * ak
        at_b += BLOCK_K * bk
    at_c = c + cm * rows[:, None] + cn * columns[None, :]
    tl.store(at_c, total.to(c.dtype.element_ty))


@triton.jit
def gram(a, c, M, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c = a @ a.T of a row-major (M, K), in tiles of one launch."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    at_left = a + rows[:, None] * K + inner[None, :]
    at_right = a + columns[:, None] * K + inner[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(at_left), tl.load(at_right).T, total)
        at_left += BLOCK_K
        at_right += BLOCK_K
    tl.store(c + rows[:, None] * M + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def relu_squared(a, b, c, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c = relu(a @ b.T)**2, fused, of tensor descriptors that the host made."""
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
    positive = tl.maximum(total.to(tl.bfloat16), 0)
    c.store([row, column], positive * positive)


@triton.jit
def to_fp8(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at).to(tl.float8e4nv).to(tl.uint8, bitcast=True))


@triton.jit
def to_e5m2(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    packed = tl.inline_asm_elementwise(
        "{ .reg .b16 r; cvt.rn.satfinite.e5m2x2.f32 r, $1, $1; cvt.u32.u16 $0, r; }",
        "=r,r",
        [value],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, packed)


@triton.jit
def add_to(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(x + at, tl.full((BLOCK,), 1.0, x.dtype.element_ty), mask=at < n)


@triton.jit
def store_one(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.0, tl.float32))
