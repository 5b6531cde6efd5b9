"""Causal attention: FlashAttention 4 on Hopper and data-centre Blackwell, else PyTorch's, else by the book."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from trainer.kernels.registry import Kernel, Op, Request

if TYPE_CHECKING:
    from torch import Tensor


class Attention(Protocol):
    """Softmax attention in which a position sees itself and what is before it."""

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q, k, v: (batch, sequence, heads, head_dim), one dtype -> the same shape and dtype.

        Scores are scaled by 1/sqrt(head_dim). No dropout.
        """
        ...


def reference_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The formula, written out in float32. Stores sequence x sequence scores."""
    import torch

    sequence = q.shape[1]
    scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float()) / math.sqrt(q.shape[-1])  # (B, H, T, T)
    future = torch.ones(sequence, sequence, dtype=torch.bool, device=q.device).triu(diagonal=1)
    weights = scores.masked_fill(future, -math.inf).softmax(dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v.float()).to(q.dtype)


def _sdpa() -> Attention:
    from torch.nn.functional import scaled_dot_product_attention

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        # PyTorch wants (B, H, T, D), and picks cuDNN, FlashAttention 2 or its own kernel by itself.
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    return attention


def _flash_attn_cute() -> Attention:
    from trainer.kernels.attention_flash import attention

    return attention


def _reference() -> Attention:
    return reference_attention


def _flash_refuses(request: Request) -> str | None:
    if request.dtype not in ("bfloat16", "float16"):
        return f"takes bfloat16 and float16, not {request.dtype}"
    if request.head_dim % 8 or not 8 <= request.head_dim <= 128:
        return f"takes a head_dim of 8 to 128 that 8 divides, not {request.head_dim}"
    return None


ATTENTION: Op[Attention] = Op(
    "attention",
    (
        # Before flash_attn.cute, for on an H200 it is the faster one: 0.65 against 0.98 ms for the h200 preset's shape,
        # 0.94 against 1.44 for 8 x 2,048 x 6 x 128 (benchmarks/trainer_kernels.py). On other cards: not measured.
        Kernel(name="sdpa", load=_sdpa),
        Kernel(
            # "for Hopper and Blackwell GPUs", says its documentation. Of Blackwell we take 10.x: 12.x has neither
            # wgmma nor tcgen05, and gets another kernel there, which nobody has compared with SDPA for us.
            name="flash_attn.cute",
            load=_flash_attn_cute,
            min_capability=(9, 0),
            max_capability=(10, 9),
            modules=("flash_attn.cute",),
            install="pip install flash-attn-4",
            refuses=_flash_refuses,
        ),
        Kernel(name="reference", load=_reference),
    ),
)
