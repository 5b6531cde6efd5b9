"""Softcapped cross-entropy over given logits: CUDA C++ for the running device, else Triton, else PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from trainer.kernels.registry import Kernel, Op

if TYPE_CHECKING:
    from torch import Tensor


class CrossEntropy(Protocol):
    """``scale`` times the sum over rows of the cross-entropy of softcap * tanh(logits / softcap).

    A softcap keeps every logit within +-softcap, so that a few confident ones cannot run away; it also means
    that exp() cannot overflow, so a fused kernel needs no pass for the maximum.
    """

    def __call__(self, logits: Tensor, targets: Tensor, softcap: float, scale: float) -> Tensor:
        """logits: (rows, vocabulary), float32, bfloat16 or float16; targets: (rows,) int64 -> () float32.

        softcap is at most 40. The gradient has the dtype of the logits. Targets lie in [0, vocabulary): the
        reference raises where one does not, a fused kernel makes the loss NaN.
        """
        ...


def reference_cross_entropy(logits: Tensor, targets: Tensor, softcap: float, scale: float) -> Tensor:
    """The formula, in float32: several full-size intermediates."""
    import torch.nn.functional as F  # noqa: N812 - its customary name

    capped = softcap * (logits.float() / softcap).tanh()  # (rows, vocabulary)
    return scale * F.cross_entropy(capped, targets, reduction="sum")


def _cuda() -> CrossEntropy:
    from trainer.kernels.cross_entropy_cuda import cross_entropy

    return cross_entropy


def _triton() -> CrossEntropy:
    from trainer.kernels.cross_entropy_triton import cross_entropy

    return cross_entropy


def _reference() -> CrossEntropy:
    return reference_cross_entropy


CROSS_ENTROPY: Op[CrossEntropy] = Op(
    "cross_entropy",
    (
        Kernel(
            name="cuda",
            load=_cuda,
            min_capability=(8, 0),  # cvt.rn.bf16.f32
            modules=("cuda.core",),
            install="pip install 'cuda-core[cu13]'",
        ),
        Kernel(
            name="triton",
            load=_triton,
            min_capability=(8, 0),
            modules=("triton",),
            install="pip install triton",
            interpretable=True,
        ),
        Kernel(name="reference", load=_reference),
    ),
)
