"""A launch of a Gluon kernel, which the interpreter does not take."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# ruff: noqa: N803

from __future__ import annotations

import contextlib

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

LAYOUT = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))


@gluon.jit
def fill(x, BLOCK: gl.constexpr):
    at = gl.arange(0, BLOCK, layout=LAYOUT)
    gl.store(x + at, at.to(gl.float32))


@gluon.jit
def fill_with(x, BLOCK: gl.constexpr, layout: gl.constexpr):
    at = gl.arange(0, BLOCK, layout=layout)
    gl.store(x + at, at.to(gl.float32))


def gluon_kernel():
    fill[(1,)](torch.empty(128), BLOCK=128)


def gluon_kernel_with_a_layout():
    layout = gl.BlockedLayout([1], [32], [4], [0])
    with contextlib.suppress(TypeError):  # the sample's hook makes Triton write it as JSON, which it cannot
        fill_with[(1,)](torch.empty(128), BLOCK=128, layout=layout)
