"""Autotuners that launch more than what they tune, and whose configurations change."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-not-found"
# ruff: noqa: N803
# Triton has no types, and its parameters are not Python's.

from __future__ import annotations

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})]


@triton.jit
def other(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def _hook(args, **_):
    other[(1,)](args["x"], BLOCK=64)


def _store(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)


plain = triton.autotune(CONFIGS, key=["n"])(triton.jit(_store))
hooked = triton.autotune(CONFIGS, key=["n"], pre_hook=_hook)(triton.jit(_store))
twice_tuned = triton.autotune([triton.Config({}), triton.Config({}, num_warps=8)], key=["n"])(plain)
alone = triton.autotune(CONFIGS[:1], key=["n"])(triton.jit(_store))


@triton.autotune(CONFIGS, key=["x"])
@triton.jit
def nested(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 2.0)


def nothing_else():
    plain[(1,)](torch.empty(64), 64)
    assert plain.nargs is None, "the arguments of a launch that is over are held"


def pre_hook():
    hooked[(1,)](torch.empty(64), 64)


def grid():
    def grid(_):
        other[(1,)](torch.empty(64), BLOCK=64)
        return (1,)

    plain[grid](torch.empty(64), 65)


def nested_tuner():
    def grid(_):
        nested[(1,)](torch.empty(64))
        return (1,)

    plain[grid](torch.empty(64), 66)


def replaced_configurations():
    alone[(1,)](torch.empty(64), 64)
    alone.configs = CONFIGS
    alone[(1,)](torch.empty(64), 65)


def larger_grids():
    for grid in ((1,), (2,), (1, 70_000), (1, 70_001)):
        other[grid](torch.empty(64), BLOCK=64)
