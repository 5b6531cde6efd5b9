"""The ReLU^2 MLP in Triton: a matrix product that applies the activation, or its derivative, as it stores."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainer.kernels.mlp_tiles import Tiles, tiles_for


@triton.jit  # type: ignore[untyped-decorator] # triton has no types
def _product_kernel(  # type: ignore[no-untyped-def]
    a,  # (M, K), contiguous
    b,  # (N, K) by its strides
    hidden,  # (M, N), contiguous: read where BACKWARD
    out,  # (M, N), contiguous
    M,
    N,
    K,
    stride_bn,
    stride_bk,
    BACKWARD: tl.constexpr,
    EVEN_K: tl.constexpr,  # BLOCK_K divides K
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Programs that run together share rows of a: GROUP_M rows of tiles are walked column by column.
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    program = tl.program_id(0)
    group = program // (GROUP_M * tiles_n)
    group_rows = min(tiles_m - group * GROUP_M, GROUP_M)
    tile_m = group * GROUP_M + program % (GROUP_M * tiles_n) % group_rows
    tile_n = program % (GROUP_M * tiles_n) // group_rows

    row = tile_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tile_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Rows and columns past the end read others again, which is cheaper than a mask; they are not stored.
    a_tile = a + (row % M)[:, None] * K + k[None, :]  # (BLOCK_M, BLOCK_K)
    b_tile = b + (column % N)[None, :] * stride_bn + k[:, None] * stride_bk  # (BLOCK_K, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for first in range(0, K, BLOCK_K):
        if EVEN_K:
            a_part = tl.load(a_tile)
            b_part = tl.load(b_tile)
        else:
            a_part = tl.load(a_tile, mask=(first + k < K)[None, :], other=0.0)
            b_part = tl.load(b_tile, mask=(first + k < K)[:, None], other=0.0)
        total = tl.dot(a_part, b_part, total, input_precision="ieee")
        a_tile += BLOCK_K
        b_tile += BLOCK_K * stride_bk

    here = (row < M)[:, None] & (column < N)[None, :]
    offset = row[:, None] * N + column[None, :]
    if BACKWARD:
        # hidden is relu(pre)^2, so the derivative 2 * relu(pre) is 2 * sqrt(hidden).
        total *= 2.0 * tl.sqrt(tl.load(hidden + offset, mask=here, other=0.0).to(tl.float32))
    else:
        total = tl.maximum(total, 0.0)
        total *= total
    tl.store(out + offset, total.to(out.dtype.element_ty), mask=here)


def _product(a: Tensor, b: Tensor, hidden: Tensor | None, tiles: Tiles) -> Tensor:
    """a: (M, K) contiguous, b: (N, K) strided -> relu(a @ b^T)^2, or (a @ b^T) * 2 sqrt(hidden) if given."""
    (M, K), N = a.shape, b.shape[0]
    out = torch.empty(M, N, dtype=a.dtype, device=a.device)
    block_k = tiles.k * 2 // a.element_size()
    grid = (triton.cdiv(M, tiles.m) * triton.cdiv(N, tiles.n),)
    with torch.cuda.device(a.device.index if a.is_cuda else -1):  # Triton launches on the current one
        _product_kernel[grid](
            a,
            b,
            out if hidden is None else hidden,
            out,
            M,
            N,
            K,
            b.stride(0),
            b.stride(1),
            BACKWARD=hidden is not None,
            EVEN_K=K % block_k == 0,
            BLOCK_M=tiles.m,
            BLOCK_N=tiles.n,
            BLOCK_K=block_k,
            GROUP_M=8,
            num_stages=tiles.stages,
            num_warps=tiles.warps,
        )
    return out


class _FusedMLP(torch.autograd.Function):
    """Keeps x, the weights and hidden = relu(x @ up^T)^2; the input of the activation is never stored."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, up: Tensor, down: Tensor, tiles: Tiles) -> Tensor:
        """x: (tokens, dim) -> (tokens, dim)."""
        hidden = _product(x, up, None, tiles)  # (tokens, hidden)
        ctx.save_for_backward(x, up, down, hidden)
        ctx.tiles = tiles
        return hidden @ down.T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """grad: (tokens, dim) -> the gradients of x, up and down."""
        x, up, down, hidden = ctx.saved_tensors
        grad = grad.contiguous()
        grad_pre = _product(grad, down.T, hidden, ctx.tiles)  # (tokens, hidden)
        return grad_pre @ up, grad_pre.T @ x, grad.T @ hidden, None


def mlp(x: Tensor, up: Tensor, down: Tensor, tiles: Tiles | None = None) -> Tensor:
    """See kernels/mlp.py. ``tiles`` replaces those of the running device."""
    if tiles is None:
        tiles = tiles_for(torch.cuda.get_device_capability(x.device) if x.is_cuda else None)
    flat = x.reshape(-1, x.shape[-1]).contiguous()
    out: Tensor = _FusedMLP.apply(flat, up, down, tiles)  # type: ignore[no-untyped-call]
    return out.reshape(x.shape)
