"""Kernels that are hard to find again, and whose code depends on more than itself."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,import-not-found,no-redef"
# ruff: noqa: N803
# Triton has no types, its parameters are not Python's, and redefining a kernel is what is tested.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.target_info import cuda_capability_geq

FP8 = tl.constexpr(False)


@triton.jit
def twice(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at).to(tl.float8e4nv).to(tl.float32))


FIRST = (twice,)


@triton.jit
def twice(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at))


@triton.jit
def lost(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.0, tl.float32))


class Holder:
    """Keeps a kernel where nobody looks."""

    hidden = lost


@triton.jit
def lost(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 2.0, tl.float32))


@triton.jit
def asks_for_hopper(x, BLOCK: tl.constexpr):
    if cuda_capability_geq(9, 0):
        tl.static_assert(False, "the branch of 9.0 is broken")
    tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.0, tl.float32))


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=[])
@triton.jit
def tuned_by_constant(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.0, tl.float32), mask=FP8)


@triton.jit
def reads_constant(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    if FP8:
        value = value.to(tl.float8e4nv).to(tl.float32)
    tl.store(x + at, value)
