"""What tells specialisations of a kernel apart, of values as a hostile tape may hold them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_gpumatrix.portability.judging.kernel_rows import KernelFacts
from pytest_gpumatrix.render.kernel_traits import traits_of, words


@pytest.mark.parametrize("deeper", [lambda value: [value], lambda value: {"a": value, "b": 1}])
def test_a_value_is_told_in_few_words_however_deep_it_is(deeper: Any) -> None:
    value: Any = 1
    for _ in range(100_000):
        value = deeper(value)
    told = words(traits_of(KernelFacts(kind="cuda", name="k", source_hash="0", options={"std": value})))
    assert told.startswith("std=")
    assert len(told) < 50
