"""All cases of the ground truth, by their ids."""

from __future__ import annotations

from collections.abc import Mapping

from tests.ground_truth import cuda_cases, triton_cases
from tests.ground_truth.case import Case


def load() -> Mapping[str, Case]:
    """Every case. ValueError if two have one id."""
    found: dict[str, Case] = {}
    every: tuple[Case, ...] = (*triton_cases.cases(), *cuda_cases.cases())
    for case in every:
        if found.setdefault(case.id, case) is not case:
            raise ValueError(f"two cases are called {case.id}")
    return found
