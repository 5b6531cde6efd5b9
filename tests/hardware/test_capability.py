from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.hardware.capability import ComputeCapability


@pytest.mark.parametrize(
    ("text", "major", "minor"),
    [("9.0", 9, 0), ("sm90", 9, 0), ("sm_90", 9, 0), ("SM_120", 12, 0), ("12.1", 12, 1), (" 8.6 ", 8, 6)],
)
def test_spellings(text: str, major: int, minor: int) -> None:
    assert ComputeCapability.parse(text) == ComputeCapability(major, minor)


@pytest.mark.parametrize("text", ["", "90", "10", "9", "sm_90a", "9.0a", ">=9.0", "9.10", "\u0669.\u0660", "sm_9"])
def test_anything_else_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"write '9\.0' or 'sm_90'"):
        ComputeCapability.parse(text)


def test_order_is_that_of_numbers() -> None:
    names = ["12.0", "9.0", "10.0", "8.9", "8.6"]
    assert sorted(names, key=ComputeCapability.parse) == ["8.6", "8.9", "9.0", "10.0", "12.0"]


@given(major=st.integers(0, 99), minor=st.integers(0, 9))
def test_what_is_printed_can_be_read(major: int, minor: int) -> None:
    capability = ComputeCapability(major, minor)
    assert ComputeCapability.parse(str(capability)) == capability
    assert ComputeCapability.parse(capability.sm) == capability
