from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.portability.emulation.memory_budget import CONTEXT, MemoryBudget

GIB = 2**30
sizes = st.integers(min_value=GIB, max_value=288 * GIB)


def test_a_24_gb_card_on_one_of_140() -> None:
    budget = MemoryBudget(device=24 * GIB, card=140 * GIB)
    assert budget.allowed == 24 * GIB - CONTEXT
    assert round(budget.fraction * 140 * GIB) == budget.allowed
    assert budget.free(100 * GIB, reserved=4 * GIB) == 20 * GIB - CONTEXT
    assert budget.free(2 * GIB, reserved=0) == 2 * GIB  # others are on the card as well
    assert budget.fraction_of_card(0.25) * 140 * GIB == 6 * GIB


@given(device=sizes, card=sizes, fraction=st.floats(0, 1), free=sizes, reserved=sizes)
def test_it_is_never_more_than_the_device_or_the_card_has(
    device: int, card: int, fraction: float, free: int, reserved: int
) -> None:
    budget = MemoryBudget(device=device, card=card)
    assert 0 <= budget.fraction_of_card(fraction) <= budget.fraction <= 1
    assert budget.fraction * card <= max(budget.allowed, card) * (1 + 1e-9)
    assert 0 <= budget.free(free, reserved) <= min(free, budget.allowed)
    assert budget.fraction_of_card(fraction) <= fraction * max(1, device / card) * (1 + 1e-9)
