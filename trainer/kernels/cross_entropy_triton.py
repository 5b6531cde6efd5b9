"""Softcapped cross-entropy in Triton: forward and backward, one read of each logit where a row fits in a tile."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from trainer.kernels.cross_entropy_fused import Launches, fused_cross_entropy

TILE = 4096  # logits per program: 16 rows of 256, or one row in pieces. At 4 warps 32 of them a thread


@triton.jit
def _tanh(x):  # type: ignore[no-untyped-def]
    # Overflow of exp is right here: 2 / inf is 0. libdevice's tanh cannot be interpreted.
    return 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x))


@triton.jit  # type: ignore[untyped-decorator] # triton has no types
def _forward_kernel(  # type: ignore[no-untyped-def]
    logits,  # (rows, vocabulary)
    targets,  # (rows,) int64
    losses,  # (rows,) float32
    gradient,  # (rows, vocabulary); not touched unless WITH_GRADIENT
    rows,
    vocabulary,
    softcap,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    ONE_TILE: tl.constexpr,  # COLUMNS covers the vocabulary
    WITH_GRADIENT: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    target = tl.load(targets + row, mask=row < rows, other=0)
    start = row[:, None] * vocabulary

    # Only the first tile where one is enough; its logits stay in registers for the gradient.
    here = (row < rows)[:, None] & (column < vocabulary)[None, :]
    t = _tanh(tl.load(logits + start + column[None, :], mask=here, other=0.0).to(tl.float32) / softcap)
    exponential = tl.where(here, tl.exp(softcap * (t - 1.0)), 0.0)  # (ROWS, COLUMNS)
    total = tl.sum(exponential, axis=1)  # (ROWS,)
    hit = column[None, :] == target[:, None]
    target_t = tl.sum(tl.where(hit, t, 0.0), axis=1)
    if not ONE_TILE:
        for first in range(COLUMNS, vocabulary, COLUMNS):
            column_i = first + column
            here_i = (row < rows)[:, None] & (column_i < vocabulary)[None, :]
            t_i = _tanh(tl.load(logits + start + column_i[None, :], mask=here_i, other=0.0).to(tl.float32) / softcap)
            total += tl.sum(tl.where(here_i, tl.exp(softcap * (t_i - 1.0)), 0.0), axis=1)
            target_t += tl.sum(tl.where(column_i[None, :] == target[:, None], t_i, 0.0), axis=1)

    total = tl.where(row < rows, total, 1.0)  # rows past the end: no log(0)
    loss = tl.log(total) + softcap * (1.0 - target_t)
    known = (target >= 0) & (target < vocabulary)
    tl.store(losses + row, tl.where(known, loss, float("nan")), mask=row < rows)

    if WITH_GRADIENT:
        slope = scale * (exponential / total[:, None] - tl.where(hit, 1.0, 0.0)) * (1.0 - t * t)
        tl.store(gradient + start + column[None, :], slope.to(gradient.dtype.element_ty), mask=here)
        if not ONE_TILE:
            for first in range(COLUMNS, vocabulary, COLUMNS):
                column_i = first + column
                here_i = (row < rows)[:, None] & (column_i < vocabulary)[None, :]
                x_i = tl.load(logits + start + column_i[None, :], mask=here_i, other=0.0).to(tl.float32)
                t_i = _tanh(x_i / softcap)
                probability = tl.exp(softcap * (t_i - 1.0)) / total[:, None]
                hit_i = tl.where(column_i[None, :] == target[:, None], 1.0, 0.0)
                slope_i = scale * (probability - hit_i) * (1.0 - t_i * t_i)
                tl.store(gradient + start + column_i[None, :], slope_i.to(gradient.dtype.element_ty), mask=here_i)


@triton.jit  # type: ignore[untyped-decorator] # triton has no types
def _scale_kernel(gradient, factor, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    by = tl.load(factor)
    if by != 1.0:
        index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(gradient + index, mask=index < count, other=0.0).to(tl.float32)
        tl.store(gradient + index, (values * by).to(gradient.dtype.element_ty), mask=index < count)


def _forward(
    logits: Tensor, targets: Tensor, losses: Tensor, gradient: Tensor | None, softcap: float, scale: float
) -> None:
    rows, vocabulary = logits.shape
    if rows == 0:
        return
    columns = min(TILE, max(16, triton.next_power_of_2(vocabulary)))
    rows_per_program = TILE // columns
    with _on(logits):
        _forward_kernel[(triton.cdiv(rows, rows_per_program),)](
            logits,
            targets,
            losses,
            logits if gradient is None else gradient,
            rows,
            vocabulary,
            softcap,
            scale,
            ROWS=rows_per_program,
            COLUMNS=columns,
            ONE_TILE=columns >= vocabulary,
            WITH_GRADIENT=gradient is not None,
            num_warps=4,
        )


def _scale_in_place(gradient: Tensor, factor: Tensor) -> None:
    count = gradient.numel()
    if count == 0:
        return
    with _on(gradient):
        _scale_kernel[(triton.cdiv(count, TILE),)](gradient, factor, count, BLOCK=TILE, num_warps=4)


def _on(tensor: Tensor) -> torch.cuda.device:
    """Triton launches on the current device; a CPU tensor (interpreted) changes nothing."""
    return torch.cuda.device(tensor.device.index if tensor.is_cuda else -1)


_LAUNCHES = Launches(forward=_forward, scale_in_place=_scale_in_place)


def cross_entropy(logits: Tensor, targets: Tensor, softcap: float, scale: float) -> Tensor:
    """See kernels/cross_entropy.py."""
    return fused_cross_entropy(logits, targets, softcap, scale, _LAUNCHES)
