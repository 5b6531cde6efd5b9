"""Triton kernels that test recording and compiling."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,import-not-found"
# ruff: noqa: N803
# Triton has no types, its parameters are not Python's, and this folder is put on the path when it is used.

from __future__ import annotations

import os

import helpers
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
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = helpers.times_factor(tl.load(x + at, mask=at < n))
    tl.store(out + at, value * factor, mask=at < n)


@triton.jit
def to_type(x, out, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n).to(TYPE)
    tl.store(out + at, value.to(tl.uint8, bitcast=True), mask=at < n)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}, num_warps=64), triton.Config({"BLOCK": 128}, num_warps=4)], key=["n"]
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, at.to(tl.float32), mask=EVEN or at < n)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, *_, **__: [c for c in configs if c.kwargs["BLOCK"] > 32]},
)
@triton.jit
def pruned(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at.to(tl.float32), mask=at < n)


@triton.jit
def store_one(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.0, tl.float32))


class Namespace:
    """A jit function may be a class's attribute."""

    @staticmethod
    @triton.jit
    def store_two(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 2.0, tl.float32))


class Abort:
    """Takes the process down, as a bug in a compiler does, unless it is interpreting."""

    def __init__(self) -> None:
        if os.environ.get("TRITON_INTERPRET") != "1":
            os.abort()


@triton.constexpr_function
def abort():
    Abort()
    return 1


@triton.jit
def crashing(x, BLOCK: tl.constexpr):
    value: tl.constexpr = abort()
    tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.0, tl.float32) * value)


def make_local():
    @triton.jit
    def local(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 3.0, tl.float32))

    return local
