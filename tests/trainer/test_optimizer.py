"""Muon makes updates orthogonal, Adam takes the rest, and the rate falls at the end."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from trainer.kernels.operators import choose, load
from trainer.kernels.registry import Request
from trainer.model import GPT, Shape
from trainer.optimizer import Muon, make_optimizers, orthogonalise, rate_at, set_rate


@pytest.mark.parametrize(("rows", "columns"), [(16, 16), (12, 48), (48, 12), (1, 8)])
def test_singular_values_come_to_about_1(rows: int, columns: int) -> None:
    matrices = torch.randn(3, rows, columns, generator=torch.Generator().manual_seed(0)) * 50
    result = orthogonalise(matrices)
    values = torch.linalg.svdvals(result)
    # The smallest of a square matrix may begin too near 0 for five steps, and is then still on its way.
    assert values.max() < 1.25
    assert values.min() > (0.3 if rows == columns else 0.65)
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    nearest = left @ right
    cosine = (result * nearest).sum((1, 2)) / (result.norm(dim=(1, 2)) * nearest.norm(dim=(1, 2)))
    assert cosine.min() > 0.97


def test_a_batch_is_its_matrices_one_by_one() -> None:
    matrices = torch.randn(2, 6, 10, generator=torch.Generator().manual_seed(1))
    alone = torch.cat([orthogonalise(matrix[None]) for matrix in matrices])
    torch.testing.assert_close(orthogonalise(matrices), alone)


def test_no_gradient_no_update_and_zero_stays_finite() -> None:
    touched, untouched = (nn.Parameter(torch.ones(4, 8)) for _ in range(2))
    touched.grad = torch.zeros(4, 8)
    Muon([touched, untouched], lr=0.1, momentum=0.9, dtype=torch.float32).step()
    assert torch.equal(touched, torch.ones(4, 8))
    assert torch.equal(untouched, torch.ones(4, 8))


def test_muon_goes_downhill_whatever_the_size_of_the_gradient() -> None:
    updates = []
    for size in (1e-4, 1e4):
        weight = nn.Parameter(torch.zeros(4, 8))
        gradient = torch.randn(4, 8, generator=torch.Generator().manual_seed(2))
        weight.grad = gradient * size
        Muon([weight], lr=0.1, momentum=0.9, dtype=torch.float32).step()
        assert (weight.detach() * gradient).sum() < 0
        updates.append(weight.detach().clone())
    torch.testing.assert_close(updates[0], updates[1], atol=1e-3, rtol=0)


def test_each_weight_has_one_optimizer() -> None:
    operators = load(choose(Request(capability=None, dtype="float32")))
    model = GPT(Shape(layers=2, dim=16, head_dim=8, sequence=8), operators, seed=0, dtype=torch.float32)
    muon, adam = make_optimizers(model, dtype=torch.float32)
    owned = [weight for o in (muon, adam) for group in o.param_groups for weight in group["params"]]
    assert sorted(map(id, owned)) == sorted(map(id, model.parameters()))
    assert all(weight.ndim == 2 for group in muon.param_groups for weight in group["params"])
    set_rate((muon, adam), 0.5)
    assert [group["lr"] for group in adam.param_groups] == [0.5 * g["initial_lr"] for g in adam.param_groups]


def test_the_rate_falls_over_the_last_part() -> None:
    rates = [rate_at(step, 100) for step in range(100)]
    assert rates[:61] == [1.0] * 61
    assert rates[60:] == sorted(rates[60:], reverse=True)
    assert 0 < rates[-1] < 0.05
