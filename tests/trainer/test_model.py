"""Rotary positions, QK-norm, causality, and weights that are the same everywhere."""

from __future__ import annotations

import math

import pytest
import torch

from trainer.errors import TrainerError
from trainer.kernels.operators import Operators, choose, load
from trainer.kernels.registry import Request
from trainer.model import GPT, VOCABULARY, SelfAttention, Shape, rotary_tables, rotate
from trainer.presets import parameters

SHAPE = Shape(layers=2, dim=32, head_dim=8, sequence=16)


def _operators() -> Operators:
    request = Request(capability=None, dtype="float32")
    return load(choose(request, {"attention": "reference", "cross_entropy": "reference", "mlp": "reference"}))


def _model(seed: int = 0) -> GPT:
    return GPT(SHAPE, _operators(), seed=seed, dtype=torch.float32)


def _filled(model: GPT) -> GPT:
    """Give the projections that begin at zero some weight, so that the blocks do something."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            if not weight.any():
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.1)
    return model


def test_rotation_keeps_lengths_and_depends_on_distance_alone() -> None:
    cos, sin = rotary_tables(16, 8)
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    rotated_q, rotated_k = (rotate(x.expand(1, 16, 1, 8), cos, sin)[0, :, 0] for x in (q, k))  # (T, D)
    torch.testing.assert_close(rotated_q.norm(dim=-1), q.norm().expand(16))
    scores = rotated_q @ rotated_k.T
    for distance in range(-15, 16):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5, rtol=0)
    assert not torch.allclose(scores.diagonal(3)[0], scores.diagonal(0)[0], atol=1e-2)


def test_qk_norm_makes_the_size_of_queries_and_keys_irrelevant() -> None:
    attention = SelfAttention(SHAPE, _operators(), torch.Generator().manual_seed(0))
    torch.nn.init.eye_(attention.out.weight)
    x = torch.randn(1, 16, 32, generator=torch.Generator().manual_seed(1))
    cos, sin = rotary_tables(16, 8)
    before = attention(x, cos, sin)
    with torch.no_grad():
        attention.query.weight.mul_(100)
        attention.key.weight.mul_(0.1)
    torch.testing.assert_close(attention(x, cos, sin), before, atol=1e-3, rtol=0)


def test_a_position_sees_nothing_after_it() -> None:
    model = _filled(_model())
    tokens = torch.randint(VOCABULARY, (1, 16), generator=torch.Generator().manual_seed(2))
    changed = tokens.clone()
    changed[0, 9:] = (changed[0, 9:] + 7) % VOCABULARY
    before, after = model.logits(tokens), model.logits(changed)
    torch.testing.assert_close(after[:, :9], before[:, :9])
    assert not torch.allclose(after[:, 9:], before[:, 9:], atol=1e-3)


def test_an_earlier_token_matters() -> None:
    model = _filled(_model())
    tokens = torch.randint(VOCABULARY, (1, 16), generator=torch.Generator().manual_seed(2))
    changed = tokens.clone()
    changed[0, 0] = (changed[0, 0] + 7) % VOCABULARY
    assert not torch.allclose(model.logits(changed)[0, -1], model.logits(tokens)[0, -1], atol=1e-4)


def test_the_first_loss_is_that_of_knowing_nothing() -> None:
    tokens = torch.randint(VOCABULARY, (4, 17), generator=torch.Generator().manual_seed(3))
    loss = _model()(tokens[:, :-1], tokens[:, 1:], 1 / 64)
    assert loss.item() == pytest.approx(math.log(VOCABULARY), abs=0.1)


def test_a_seed_decides_the_weights() -> None:
    for one, two in zip(_model(7).parameters(), _model(7).parameters(), strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(_model(7).embedding, _model(8).embedding)


def test_parameters_are_counted_as_they_are() -> None:
    assert parameters(SHAPE) == sum(weight.numel() for weight in _model().parameters())


@pytest.mark.parametrize("sizes", [{"dim": 20}, {"head_dim": 0}, {"layers": 0}, {"head_dim": 1}])
def test_a_shape_that_does_not_fit_is_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(TrainerError):
        Shape(**{"layers": 1, "dim": 32, "head_dim": 8, "sequence": 16, **sizes})
