"""The ReLU^2 MLP: Triton fuses the activation into the first product, else PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from trainer.kernels.registry import Kernel, Op

if TYPE_CHECKING:
    from torch import Tensor


class MLP(Protocol):
    """relu(x @ up^T)^2 @ down^T: two products around an activation that zeroes about half of its input."""

    def __call__(self, x: Tensor, up: Tensor, down: Tensor) -> Tensor:
        """x: (..., dim), up: (hidden, dim), down: (dim, hidden), one dtype -> (..., dim), the same dtype."""
        ...


def reference_mlp(x: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """The formula. Two passes over (..., hidden) more than the fused kernel in each direction."""
    return (x @ up.T).relu().square() @ down.T


def _triton() -> MLP:
    from trainer.kernels.mlp_triton import mlp

    return mlp


def _reference() -> MLP:
    return reference_mlp


MLP_OP: Op[MLP] = Op(
    "mlp",
    (
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
