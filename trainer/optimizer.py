"""Muon for the matrices of the blocks, Adam for the rest.

Muon replaces a matrix's momentum by the nearest matrix with orthonormal rows or columns: every direction
gets an update of the same size, rare ones too (Keller Jordan, https://kellerjordan.github.io/posts/muon/).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from trainer.model import GPT

# The quintic a x + b x^3 + c x^5, from the page named above: steep at 0, and it keeps singular values within
# about 0.7 to 1.2 instead of converging to 1, which is near enough for an update.
_A, _B, _C = 3.4445, -4.7750, 2.0315
NEWTON_SCHULZ_STEPS = 5


def orthogonalise(matrices: Tensor, steps: int = NEWTON_SCHULZ_STEPS) -> Tensor:
    """Move every singular value to about 1 by Newton-Schulz iteration: products only, no decomposition.

    matrices: (batch, rows, columns), any floating dtype -> the same; computed in that dtype.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices  # wide: the Gram matrix below is then the smaller one
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)  # Frobenius norm 1, so no singular value is above 1
    for _ in range(steps):
        gram = x @ x.mT
        x = _A * x + (_B * gram + _C * gram @ gram) @ x
    result: Tensor = x.mT if tall else x
    return result


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised. Matrices of one shape go through the iteration as one batch."""

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, momentum: float, dtype: torch.dtype) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum})
        self.dtype = dtype  # of the iteration

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every matrix that has a gradient; there is no closure to run."""
        assert closure is None
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape[matrix.shape].append(matrix)
            for (rows, columns), matrices in by_shape.items():
                directions = torch.stack([self._direction(matrix, group["momentum"]) for matrix in matrices])
                updates = orthogonalise(directions.to(self.dtype)).float()
                # A tall matrix has fewer directions than rows: keep the size of a row's update.
                rate = group["lr"] * max(1.0, rows / columns) ** 0.5
                torch._foreach_add_(matrices, list(updates.unbind()), alpha=-rate)

    def _direction(self, matrix: Tensor, momentum: float) -> Tensor:
        assert matrix.grad is not None
        state = self.state[matrix]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(matrix)
        average: Tensor = state["momentum"]
        average.lerp_(matrix.grad, 1 - momentum)
        return matrix.grad.lerp(average, momentum)


def make_optimizers(model: GPT, *, dtype: torch.dtype) -> tuple[torch.optim.Optimizer, ...]:
    """Muon for the matrices inside the blocks; Adam for the embedding and the head, whose rows are bytes."""
    muon = Muon(list(model.blocks.parameters()), lr=0.02, momentum=0.95, dtype=dtype)
    adam = torch.optim.Adam(
        [
            {"params": [model.embedding], "lr": 0.05},
            {"params": [model.head.weight], "lr": 0.004},
        ],
        betas=(0.8, 0.95),
        eps=1e-10,
    )
    for optimizer in (muon, adam):
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return muon, adam


def rate_at(step: int, steps: int, cooldown: float = 0.4) -> float:
    """The learning rate's factor at 0-based ``step`` of ``steps``: 1, then down to nearly 0 over the last part."""
    return min(1.0, (steps - step) / (cooldown * steps))


def set_rate(optimizers: Iterable[torch.optim.Optimizer], factor: float) -> None:
    """Set every group's rate to ``factor`` times its first one."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = factor * group["initial_lr"]
