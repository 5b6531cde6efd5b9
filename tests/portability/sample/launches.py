"""Launches of the sample kernels; a test's name is the function's."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,import-not-found"

from __future__ import annotations

import contextlib
import os

import far
import kernels
import torch
import triton.language as tl


def _check(found, expected):
    """On a GPU that is a fake, nothing is computed."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        assert torch.equal(found, expected)


def matmul():
    a, b = (torch.full(shape, 0.25, dtype=torch.float16) for shape in ((128, 64), (64, 256)))
    c = torch.empty(128, 256, dtype=torch.float16)
    strides = (*a.stride(), *b.stride(), *c.stride())
    kernels.matmul[(1, 1)](a, b, c, 128, 256, 64, *strides, 128, 256, 64, num_warps=8, num_stages=4)
    _check(c, a @ b)


def aligned():
    x, out = torch.ones(64), torch.empty(64)
    kernels.scale[(1,)](x, out, 64, 2, BLOCK=64)
    _check(out, torch.full((64,), 6.0))


def misaligned():
    x, out = torch.ones(65)[1:], torch.empty(64)
    kernels.scale[(1,)](x, out, 64, 2, BLOCK=64)


def scalar_of_one():
    x, out = torch.ones(63), torch.empty(63)
    for _ in range(2):
        kernels.scale[(1,)](x, out, 63, 1, BLOCK=64)


def fp8():
    out = torch.empty(64, dtype=torch.uint8)
    kernels.to_type[(1,)](torch.ones(64), out, 64, TYPE=tl.float8e4nv, BLOCK=64)


def clusters():
    with contextlib.suppress(ValueError):  # not below 9.0
        kernels.store_one[(1,)](torch.empty(64), BLOCK=64, num_ctas=2)


def misspelt_option():
    kernels.store_one[(1,)](torch.empty(64), BLOCK=64, num_wraps=2)


def tuned():
    x = torch.empty(128)
    for _ in range(2):
        kernels.tuned[lambda meta: (128 // meta["BLOCK"],)](x, 128)
    _check(x, torch.arange(128.0))


def pruned():
    kernels.pruned[(1,)](torch.empty(64), 64)


def namespaced():
    kernels.Namespace.store_two[(1,)](torch.empty(64), BLOCK=64)


def crashing():
    kernels.crashing[(1,)](torch.empty(64), BLOCK=64)


def local():
    kernels.make_local()[(1,)](torch.empty(64), BLOCK=64)


def first_of_two():
    far.FIRST[0][(1,)](torch.ones(64), BLOCK=64)


def second_of_two():
    far.twice[(1,)](torch.ones(64), BLOCK=64)


def hidden():
    far.Holder.hidden[(1,)](torch.ones(64), BLOCK=64)


def asks_for_hopper():
    far.asks_for_hopper[(1,)](torch.ones(64), BLOCK=64)


def constant_off():
    far.reads_constant[(1,)](torch.ones(64), BLOCK=64)


def constant_on():
    before, far.FP8 = far.FP8, tl.constexpr(True)
    far.reads_constant[(1,)](torch.ones(64), BLOCK=64)
    far.FP8 = before


def constant_of_tuned():
    before = far.FP8
    for value in (False, True, True):
        far.FP8 = tl.constexpr(value)
        far.tuned_by_constant[(1,)](torch.ones(64))
    far.FP8 = before


def nothing():
    torch.ones(1)


def aligned_again():
    aligned()
