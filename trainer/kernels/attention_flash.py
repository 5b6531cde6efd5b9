"""Causal attention by FlashAttention 4 (the distribution flash-attn-4)."""

from __future__ import annotations

import torch
from flash_attn.cute import flash_attn_func


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """q, k, v: (batch, sequence, heads, head_dim), bfloat16 or float16 -> the same shape and dtype."""
    result = flash_attn_func(q, k, v, causal=True)
    # It returns the output alone or, depending on its version, the output and the log-sum-exp.
    out: torch.Tensor = result[0] if isinstance(result, tuple) else result
    return out
