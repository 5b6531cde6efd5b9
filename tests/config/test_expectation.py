"""Patterns over node ids."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.config.expectation import TestPattern


@pytest.mark.parametrize(
    ("pattern", "test", "matches"),
    [
        ("tests/test_a.py::test_b", "tests/test_a.py::test_b", True),
        ("tests/test_a.py::test_b", "tests/test_a.py::test_bc", False),
        ("tests/test_a.py::test_b*", "tests/test_a.py::test_bc[1]", True),
        ("tests/*::test_b", "tests/sub/test_a.py::TestC::test_b", True),
        ("*", "tests/test_a.py::test_b", True),
        ("t.py::a[fp16-1]", "t.py::a[fp16-1]", True),  # brackets stand for themselves
        ("t.py::a[fp16-1]", "t.py::af", False),
        ("t.py::a[fp?6]", "t.py::a[bf16]", False),
        ("t.py::a[fp?6]", "t.py::a[fp16]", True),
        ("t.py::a*", "t.py::a[x\ny]", True),
        # As plain JUnit tells it, where classname is "tests.test_a.TestB" and the module's end is not known.
        ("tests/test_a.py::TestB::test_c", "tests.test_a.TestB::test_c", True),
        ("tests/test_a.py::TestB::test_c", "tests/test_a/TestB.py::test_c", True),
        ("tests.test_a.TestB::test_c*", "tests/test_a.py::TestB::test_c[1]", True),
        ("tests/test_a.py::test_c[a/b::c]", "tests.test_a::test_c[a/b::c]", True),
        ("tests/test_a.py::test_c", "tests.test_b::test_c", False),
    ],
)
def test_a_pattern_matches_either_form(pattern: str, test: str, matches: bool) -> None:
    assert TestPattern(text=pattern).matches(test) is matches


def test_many_stars_do_not_take_for_ever() -> None:
    assert not TestPattern(text="*a" * 40 + "b").matches("a" * 20_000)
