"""The GPT: rotary positions, QK-norm, a ReLU^2 MLP, softcapped logits.

Shapes: B sequences, T positions, C = dim channels, H heads of D = head_dim, V bytes of vocabulary.
Weights are float32; a layer casts them to the dtype of its input, so the gradients and updates are float32 too.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - its customary name
from torch import Tensor, nn

from trainer.errors import TrainerError
from trainer.kernels.operators import Operators

VOCABULARY = 256  # a token is a byte
ROTARY_BASE = 10_000.0
SOFTCAP = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """The size of the model."""

    layers: int
    dim: int
    head_dim: int
    sequence: int  # the longest sequence it will see

    def __post_init__(self) -> None:
        if min(self.layers, self.dim, self.head_dim, self.sequence) < 1:
            raise TrainerError(f"a size below 1 in {self}")
        if self.dim % self.head_dim or self.head_dim % 2:
            raise TrainerError(f"head_dim {self.head_dim} must be even and divide dim {self.dim}")

    @property
    def heads(self) -> int:
        """H."""
        return self.dim // self.head_dim

    @property
    def hidden(self) -> int:
        """The width inside the MLP."""
        return 4 * self.dim


def norm(x: Tensor) -> Tensor:
    """Divide by the root mean square of the last dimension. No weights: the next matrix can have them."""
    return F.rms_norm(x, (x.shape[-1],))


def rotary_tables(sequence: int, head_dim: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine of position * frequency, (T, D/2) float32 each; the frequencies fall as powers of the base."""
    frequency = ROTARY_BASE ** (-torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)  # (D/2,)
    angle = torch.outer(torch.arange(sequence, dtype=torch.float32), frequency)  # (T, D/2)
    return angle.cos(), angle.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair (x[i], x[i + D/2]) by its position's angle. x: (B, T, H, D); cos, sin: (T, D/2).

    The dot product of two rotated vectors then depends on the distance of their positions alone.
    """
    left, right = x.float().chunk(2, dim=-1)
    cos, sin = cos[:, None, :], sin[:, None, :]  # over the heads
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1).to(x.dtype)


class Linear(nn.Module):
    """y = x @ weight^T, without a bias. weight: (out, in) float32."""

    def __init__(self, inputs: int, outputs: int, std: float, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, generator=generator) * std)

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out), in the dtype of x."""
        y: Tensor = F.linear(x, self.weight.to(x.dtype))
        return y


class SelfAttention(nn.Module):
    """Causal attention. QK-norm bounds the scores: no query or key can be long."""

    def __init__(self, shape: Shape, operators: Operators, generator: torch.Generator) -> None:
        super().__init__()
        self.shape = shape
        self.attention = operators.attention
        std = shape.dim**-0.5
        self.query = Linear(shape.dim, shape.dim, std, generator)
        self.key = Linear(shape.dim, shape.dim, std, generator)
        self.value = Linear(shape.dim, shape.dim, std, generator)
        self.out = Linear(shape.dim, shape.dim, 0.0, generator)  # a block begins as the identity

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x: (B, T, C) -> (B, T, C)."""
        heads = (*x.shape[:2], self.shape.heads, self.shape.head_dim)
        q = rotate(norm(self.query(x).view(heads)), cos, sin)  # (B, T, H, D)
        k = rotate(norm(self.key(x).view(heads)), cos, sin)
        v = self.value(x).view(heads)
        y: Tensor = self.out(self.attention(q, k, v).reshape(x.shape))
        return y


class Block(nn.Module):
    """Attention, then the MLP; each reads a normalised copy of the stream and adds to it."""

    def __init__(self, shape: Shape, operators: Operators, generator: torch.Generator) -> None:
        super().__init__()
        self.attention = SelfAttention(shape, operators, generator)
        self.mlp = operators.mlp
        self.up = Linear(shape.dim, shape.hidden, shape.dim**-0.5, generator)
        self.down = Linear(shape.hidden, shape.dim, 0.0, generator)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x: (B, T, C) -> (B, T, C)."""
        x = x + self.attention(norm(x), cos, sin)
        return x + self.mlp(norm(x), self.up.weight.to(x.dtype), self.down.weight.to(x.dtype))


class GPT(nn.Module):
    """Bytes in, loss out.

    Weights are drawn on the CPU from ``seed`` in one fixed order, so they are the same on every device.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape, operators: Operators, *, seed: int, dtype: torch.dtype) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.dtype = dtype
        self.cross_entropy = operators.cross_entropy
        self.embedding = nn.Parameter(torch.randn(VOCABULARY, shape.dim, generator=generator))  # (V, C)
        self.blocks = nn.ModuleList(Block(shape, operators, generator) for _ in range(shape.layers))
        self.head = Linear(shape.dim, VOCABULARY, 0.1 * shape.dim**-0.5, generator)
        cos, sin = rotary_tables(shape.sequence, shape.head_dim)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def logits(self, tokens: Tensor) -> Tensor:
        """tokens: (B, T) int64 -> (B, T, V), before the softcap."""
        length = tokens.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]
        x = norm(self.embedding[tokens].to(self.dtype))  # (B, T, C)
        for block in self.blocks:
            x = block(x, cos, sin)
        out: Tensor = self.head(norm(x))
        return out

    def forward(self, tokens: Tensor, targets: Tensor, scale: float) -> Tensor:
        """tokens, targets: (B, T) int64 -> () float32, scale times the summed cross-entropy in nats."""
        logits = self.logits(tokens)
        return self.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1), SOFTCAP, scale)
