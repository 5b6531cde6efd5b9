"""The arithmetic in texts: out-of-memory sizes, and numeric mismatches."""

# ruff: noqa: E501 - messages are as long as they are

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.triage.memory import memory_text
from pytest_gpumatrix.triage.mismatch import Explanation, mismatch_of

GIB = 2**30
NEW = "tried to allocate {r} gib. gpu 0 has a total capacity of {t} gib of which {f} gib is free. "
THIS = NEW + "including non-pytorch memory, this process has {o} gib memory in use. "
LISTED = (
    NEW
    + "process 7 has {o} gib memory in use. of the allocated memory {a} gib is allocated by pytorch, and 0.1 gib is reserved by pytorch but unallocated."
)


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        (THIS.format(r=2, t=24, f=1, o=22.9), False),
        (THIS.format(r=2, t=24, f=1, o=2), True),
        (THIS.format(r=2, t=24, f=1, o=22), False),  # others hold no more than a display takes
        (THIS.format(r=30, t=24, f=1, o=2), False),  # it would not fit alone either
        (LISTED.format(r=2, t=24, f=1, o=22.9, a=22), False),
        (LISTED.format(r=2, t=24, f=1, o=22.9, a=1), True),
        (NEW.format(r=1.95, t=14.75, f=1.66) + "process 4 has 13.09 gib memory in use.", False),  # itself, in a container
        (NEW.format(r=2, t=24, f=1), False),
        ("tried to allocate 46.00 mib (gpu 0; 11.92 gib total capacity; 11.24 gib already allocated; 5.69 mib free; 11.46 gib reserved in total by pytorch)", False),
        ("tried to allocate 46.00 mib (gpu 0; 11.92 gib total capacity; 1.24 gib already allocated; 5.69 mib free; 1.46 gib reserved in total by pytorch)", True),
        ("tried to allocate 46.00 mib (gpu 0; 11.92 gib total capacity; 11.24 gib already allocated; 5.69 mib free)", False),
        ("out of memory", False),
    ],
)  # fmt: skip
def test_whose_memory_it_was(text: str, shared: bool) -> None:
    assert memory_text(text).shared is shared


def test_a_misspelt_capacity_is_read() -> None:
    assert memory_text("gpu 0 has a total capacty of 14.75 gib of which 1.00 kib is free").total == int(14.75 * GIB)


@pytest.mark.parametrize(
    ("text", "explanation"),
    [
        ("mismatched elements: 2288 / 8423 (27.2%)\ngreatest absolute difference: 0.00318 at (0,) (up to 1e-05 allowed)", "tf32"),
        ("mismatched elements: 6 / 2048 (0.3%) greatest absolute difference: 0.125 at index (21, 11) (up to 0.01 allowed)", "rounding"),
        ("mismatched elements: 1 / 4736 greatest absolute difference: 0.0614 (up to 0.06 allowed) greatest relative difference: 0.0028 (up to 0.0 allowed)", "near"),
        ("rel. error = 0.0617 (tol = 0.001) | abs. error = 2.27e-05 (tol = 1e-05)", "near"),
        ("mismatched elements: 100 / 100 (100%) greatest absolute difference: nan at index (0,) (up to 1e-05 allowed)", "wrong"),
        ("mismatched elements: 100 / 100 (100%) greatest absolute difference: 7.9 at index (0,) (up to 0.01 allowed)", "wrong"),
        ("mismatched elements: 1 / 10000 greatest absolute difference: 4821.0 at index (0,) (up to 0.01 allowed)", "wrong"),
        ("tensor-likes are not equal!\nmismatched elements: 2 / 100\ngreatest absolute difference: 3 at index (2,)", "wrong"),
        ("not equal to tolerance rtol=0.001, atol=0\nmax absolute difference among violations: 0.0039\nmax relative difference among violations: 0.0012", "near"),
        ("assert 0.70012 == 0.7 ± 7.0e-05", "near"),
        ("assert 9.0 == 0.7 ± 7.0e-05", "wrong"),
        ("mismatched elements: 1 / 50", "unsaid"),
        ("not close", "unsaid"),
    ],
)  # fmt: skip
def test_what_explains_a_mismatch(text: str, explanation: str) -> None:
    assert mismatch_of(text).explanation is Explanation(explanation)


@settings(deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from(
            "0123456789.e-+ naif/()mismatched elements: greatest absolute difference up to allowed ±="
        ),
        max_size=300,
    )
)
def test_any_numbers_are_read(text: str) -> None:
    assert mismatch_of(text).explanation in Explanation
    assert memory_text(text).shared in (True, False)
