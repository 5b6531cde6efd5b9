"""Launches of kernels that use what is rarer in Triton; a test's name is the function's."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-not-found"
# ruff: noqa: N803
# Triton has no types, its parameters are not Python's, and this folder is put on the path when it is used.

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

SCALE = tl.constexpr(3)


@triton.constexpr_function
def half(value):
    return value // 2


@triton.jit
def fill(x, BLOCK: tl.constexpr, TYPE: tl.constexpr):
    at = tl.arange(0, half(BLOCK))
    tl.store(x + at, tl.full((half(BLOCK),), SCALE, TYPE))


@triton.jit
def copy_by_host_descriptors(source, target, BLOCK: tl.constexpr):
    target.store([0, 0], source.load([0, 0]))


@triton.jit
def copy_by_device_descriptors(source, target, rows, columns, BLOCK: tl.constexpr):
    here = tl.make_tensor_descriptor(source, shape=[rows, columns], strides=[columns, 1], block_shape=[BLOCK, BLOCK])
    there = tl.make_tensor_descriptor(target, shape=[rows, columns], strides=[columns, 1], block_shape=[BLOCK, BLOCK])
    there.store([0, 0], here.load([0, 0]))


@triton.jit
def product(a, b, c, K, BLOCK: tl.constexpr, SPECIALISE: tl.constexpr):
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK, warp_specialize=SPECIALISE):
        total = tl.dot(a.load([0, k]), b.load([0, k]).T, total)
    c.store([0, 0], total.to(tl.float16))


@triton.jit
def add_all(pointers, sizes, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.load(pointers[0] + at, mask=at < sizes[0]) + tl.load(pointers[1] + at, mask=at < sizes[1])
    tl.store(pointers[0] + at, total, mask=at < sizes[0])


def _descriptor(tensor, block=16):
    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), [block, block])


def options():
    fill[(1,)](torch.empty(64), BLOCK=64, TYPE=tl.float32, num_ctas=2, maxnreg=64, num_warps=8)


def constexpr_function_and_global():
    fill[(1,)](torch.empty(64), BLOCK=64, TYPE=tl.float32)


def host_descriptors():
    source, target = torch.ones(16, 16), torch.zeros(16, 16)
    copy_by_host_descriptors[(1,)](_descriptor(source), _descriptor(target), BLOCK=16)


def device_descriptors():
    triton.set_allocator(lambda size, *_: torch.empty(size, dtype=torch.int8))
    copy_by_device_descriptors[(1,)](torch.ones(16, 16), torch.zeros(16, 16), 16, 16, BLOCK=16)


def warp_specialisation():
    a, b, c = (_descriptor(torch.ones(16, 16, dtype=torch.float16)) for _ in range(3))
    product[(1,)](a, b, c, 16, BLOCK=16, SPECIALISE=True, num_warps=4)


def tuples():
    add_all[(1,)]((torch.ones(16), torch.ones(16)), (16, 7), BLOCK=16)
