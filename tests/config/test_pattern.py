"""Patterns over node ids."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.config.pattern import NamePattern, TestIndex, TestPattern


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
    assert TestPattern(text=pattern).among(TestIndex([test, "other"])) == ({test} if matches else set()) | (
        {"other"} if pattern == "*" else set()
    )


def test_many_stars_do_not_take_for_ever() -> None:
    assert not TestPattern(text="*a" * 40 + "b").matches("a" * 20_000)
    assert TestPattern(text="*a" * 40 + "b").among(TestIndex(["a" * 20_000])) == set()


def test_a_text_without_a_wildcard_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fnmatch, "translate", None)
    assert TestPattern(text="a.py::t[x.y]").matches("a.py::t[x.y]")
    assert not TestPattern(text="a.py::t[x.y]").matches("a.py::t[xzy]")
    assert NamePattern(text="loss[1]").matches("loss[1]")


names = st.text("ab./:[]*?\n\u202e\U0010ffff", max_size=12)
patterns = names | st.builds(lambda name, end: name + end, names, st.sampled_from(["*", "?", "[*]", ".py::a*"]))


@settings(max_examples=300, deadline=None)
@given(patterns, st.lists(names, unique=True, max_size=8))
def test_an_index_finds_what_matches_one_by_one(pattern: str, tests: list[str]) -> None:
    wanted = TestPattern(text=pattern)
    tests = [*tests, pattern, f"{pattern}\U0010ffff", pattern.replace("*", "x/y")]
    assert wanted.among(TestIndex(tests)) == {test for test in tests if wanted.matches(test)}


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("loss", "loss", True),
        ("loss", "loss2", False),
        ("loss*", "loss/val", True),
        ("t[1]", "t[1]", True),
        ("a.b", "a/b", False),
    ],
)
def test_a_name_is_matched_as_it_is(pattern: str, name: str, matches: bool) -> None:
    assert NamePattern(text=pattern).matches(name) is matches
