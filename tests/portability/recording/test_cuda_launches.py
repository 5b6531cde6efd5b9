from __future__ import annotations

from typing import Any

import pytest

from pytest_gpumatrix.portability.recording.cuda_launches import extent, first_kernel


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ('extern "C" __global__ void scale(float *x) {}', "scale"),
        ("__global__ void __launch_bounds__(128, 2) bounded(int n) {}", "bounded"),
        (".visible .entry copy(\n.param .u64 out) { ret; }", "copy"),
        (".func helper() { ret; }", "none"),
        ("__global__", "none"),
        (b"\x7fELF", "none"),
    ],
)
def test_the_first_kernel_of_a_source(code: Any, name: str) -> None:
    assert first_kernel(code, "none") == name


@pytest.mark.parametrize(
    ("given", "expected"),
    [(5, (5, 1, 1)), ((5,), (5, 1, 1)), ([2, 3], (2, 3, 1)), ((2, 3, 4), (2, 3, 4)), ((0, 1, 1), (0, 1, 1))],
)
def test_an_extent_has_three_sizes(given: Any, expected: tuple[int, int, int]) -> None:
    assert extent(given) == expected


def test_no_launch_has_four() -> None:
    with pytest.raises(ValueError, match="too many values"):
        extent((1, 1, 1, 1))
