from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures, TensorPath
from pytest_gpumatrix.portability.judging.slowness import Slowness, slowness

NONE, MMA, WGMMA, TCGEN05 = TensorPath.NONE, TensorPath.MMA, TensorPath.WGMMA, TensorPath.TCGEN05
ALL = ("spills", "tensor cores", "asynchronous copies", "atomics")


def figures(**numbers: Any) -> KernelFigures:
    known = {
        "spill_stores": 0,
        "spill_loads": 0,
        "tensor_path": NONE,
        "async_copies": 0,
        "bulk_copies": 0,
        "atomics": 0,
        "compare_and_swaps": 0,
    }
    return KernelFigures(static_shared_memory=0, registers=32, **{**known, **numbers})


UNKNOWN = KernelFigures(static_shared_memory=0, registers=32)


@pytest.mark.parametrize(
    ("mine", "theirs", "finding"),
    [
        # Spills
        ({"spill_stores": 280}, {}, "spills 280 B per thread (the build for 9.0: 0 B)"),
        ({"spill_stores": 1280}, {"spill_stores": 16}, "spills 1,280 B per thread (the build for 9.0: 16 B)"),
        ({"spill_stores": 280}, {"spill_stores": 280}, None),
        ({}, {"spill_stores": 280}, None),
        # Tensor cores: another way to them is the device's own
        ({}, {"tensor_path": WGMMA}, "no tensor cores (the build for 9.0 uses them, by wgmma)"),
        ({"tensor_path": MMA}, {"tensor_path": WGMMA}, None),
        ({"tensor_path": MMA}, {"tensor_path": TCGEN05}, None),
        ({"tensor_path": WGMMA}, {}, None),
        # Copies: in bulk or by threads
        ({}, {"async_copies": 16, "bulk_copies": 8}, "no asynchronous copies (the build for 9.0 has 24)"),
        ({"async_copies": 2}, {"bulk_copies": 8}, None),
        ({"bulk_copies": 2}, {"async_copies": 8}, None),
        ({"async_copies": 2}, {}, None),
        # Atomics: a loop in place of what memory does by itself
        (
            {"compare_and_swaps": 4},
            {"atomics": 2},
            "4 compare-and-swap loops (the build for 9.0 has 2 native atomics)",
        ),
        (
            {"compare_and_swaps": 1, "atomics": 3},
            {"atomics": 4},
            "1 compare-and-swap loop (the build for 9.0 has 4 native atomics)",
        ),
        ({"compare_and_swaps": 1}, {"compare_and_swaps": 1}, None),
        ({"compare_and_swaps": 1, "atomics": 2}, {"compare_and_swaps": 1, "atomics": 4}, None),  # unrolled
        ({"compare_and_swaps": 2, "atomics": 4}, {"compare_and_swaps": 1, "atomics": 4}, None),  # a lock, unrolled
        ({"atomics": 1}, {"atomics": 4}, None),
        ({}, {}, None),
    ],
)
def test_a_finding(mine: dict[str, Any], theirs: dict[str, Any], finding: str | None) -> None:
    found = slowness(figures(**mine), figures(**theirs), "the build for 9.0")
    assert found == Slowness(findings=(finding,) if finding is not None else ())


def test_all_findings_are_told() -> None:
    found = slowness(
        figures(spill_stores=4, compare_and_swaps=1),
        figures(tensor_path=MMA, async_copies=1, atomics=1),
        "the build for 9.0",
    )
    assert len(found.findings) == len(ALL)


@pytest.mark.parametrize(
    ("mine", "theirs", "not_known"),
    [
        (UNKNOWN, UNKNOWN, ALL),
        (figures(), UNKNOWN, ("tensor cores", "asynchronous copies")),  # no spills and no loops: those are known
        (figures(spill_stores=4, compare_and_swaps=1), UNKNOWN, ALL),
        (UNKNOWN, figures(), ("spills", "atomics")),  # there is nothing to lose of the others
        (figures(tensor_path=MMA, async_copies=1), UNKNOWN, ()),
        (figures(tensor_path=MMA, bulk_copies=1), figures(tensor_path=None, async_copies=None), ()),
        (figures(tensor_path=None), figures(tensor_path=MMA), ("tensor cores",)),
        (figures(bulk_copies=None), figures(async_copies=1), ("asynchronous copies",)),
    ],
)
def test_what_is_not_known_is_said(mine: KernelFigures, theirs: KernelFigures, not_known: tuple[str, ...]) -> None:
    assert slowness(mine, theirs, "the build for 9.0") == Slowness(not_known=not_known)


@pytest.mark.parametrize(
    ("mine", "found"),
    [
        (figures(tensor_path=None), Slowness()),
        (figures(spill_stores=12), Slowness(findings=("spills 12 B per thread (no other build to compare with)",))),
        (UNKNOWN, Slowness(not_known=("spills",))),
    ],
)
def test_without_another_build_spills_alone_are_told(mine: KernelFigures, found: Slowness) -> None:
    assert slowness(mine, None, "no other build to compare with") == found


counts = st.none() | st.integers(0, 9)
any_figures = st.builds(
    figures,
    spill_stores=counts,
    tensor_path=st.none() | st.sampled_from(TensorPath),
    async_copies=counts,
    bulk_copies=counts,
    atomics=counts,
    compare_and_swaps=counts,
)


@given(any_figures)
def test_no_build_is_slower_than_itself(mine: KernelFigures) -> None:
    assert slowness(mine, mine, "itself").findings == ()


@given(any_figures, any_figures)
def test_a_thing_is_found_or_not_known_or_neither(mine: KernelFigures, theirs: KernelFigures) -> None:
    found = slowness(mine, theirs, "the other")
    assert len(found.findings) + len(found.not_known) <= len(ALL)
