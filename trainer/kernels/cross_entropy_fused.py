"""The autograd side that both fused cross-entropy kernels share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True, kw_only=True, slots=True)
class Launches:
    """What a kernel file provides.

    ``forward(logits, targets, losses, gradient, softcap, scale)`` fills losses (rows,) float32 and, unless it is
    None, gradient (rows, vocabulary), which is scale times the derivative of losses.sum().
    ``scale_in_place(gradient, factor)`` multiplies by a () float32 tensor; where that is 1 it touches nothing.
    """

    forward: Callable[[Tensor, Tensor, Tensor, Tensor | None, float, float], None]
    scale_in_place: Callable[[Tensor, Tensor], None]


class _FusedCrossEntropy(torch.autograd.Function):
    """The gradient is made in forward, while a row of logits is on chip, and kept instead of the logits."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, softcap: float, scale: float, launches: Launches) -> Tensor:
        """Return () float32."""
        gradient = torch.empty_like(logits) if ctx.needs_input_grad[0] else None
        losses = torch.empty(logits.shape[0], dtype=torch.float32, device=logits.device)
        launches.forward(logits, targets, losses, gradient, softcap, scale)
        ctx.save_for_backward(gradient)
        ctx.launches = launches
        ctx.spent = False
        return losses.sum() * scale

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor, None, None, None, None]:
        """Return the gradient of the logits. A trainer calls backward on the loss itself, so grad_loss is 1.

        Whether it is 1 is decided on the device: reading it here would wait for the device.
        """
        if ctx.spent:
            raise RuntimeError("cross-entropy: backward ran twice, but the first run scaled the gradient in place")
        ctx.spent = True
        (gradient,) = ctx.saved_tensors
        ctx.launches.scale_in_place(gradient, grad_loss)
        return gradient, None, None, None, None


def fused_cross_entropy(logits: Tensor, targets: Tensor, softcap: float, scale: float, launches: Launches) -> Tensor:
    """See kernels/cross_entropy.py for shapes and dtypes. Raises ValueError where they do not hold."""
    if logits.ndim != 2 or targets.shape != logits.shape[:1] or targets.dtype != torch.int64:
        raise ValueError(
            f"logits {tuple(logits.shape)} and targets {tuple(targets.shape)} {targets.dtype}: "
            "want (rows, vocabulary) and (rows,) torch.int64"
        )
    if not 0 < softcap <= 40:  # exp(-2 * softcap) must stay a normal float32
        raise ValueError(f"softcap is {softcap}: must be above 0 and at most 40")
    loss: Tensor = _FusedCrossEntropy.apply(logits.contiguous(), targets.contiguous(), softcap, scale, launches)  # type: ignore[no-untyped-call]
    return loss
