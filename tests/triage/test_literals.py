"""The literals that patterns need: no text that a pattern matches is passed over for want of one."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.triage.literals import may_match, needed_by
from pytest_gpumatrix.triage.rules import load_rules
from tests.triage.corpus import EXAMINED, FAMILIES, corpus, held_out

PATTERNS = [pattern for rule in load_rules() for pattern in rule.any_]


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        (r"\bout of memory\b", [{"out of memory"}]),
        (r"only supports? (fp16|bf16)", [{"only support"}, {"fp16", "bf16"}]),
        (r"abc|def", [{"abc", "def"}]),
        (r"abc|x", []),  # too short to be worth it
        (r"abc(def)?", [{"abc"}]),
        (r"abc(def){0,3}ghi", [{"abc"}, {"ghi"}]),
        (r"abc(def){1,3}", [{"abc"}, {"def"}]),
        (r"abc{0,2}def", [{"def"}]),
        (r"abcd+efg", [{"abcd"}, {"efg"}]),
        (r"abc(?!def)ghi(?<!xyz)", [{"abc"}, {"ghi"}]),
        (r"abc\.def\(\d{3}\nghi", [{"abc.def("}, {"ghi"}]),
        (r"a[bc]d[^\]x]efg[)]", [{"efg"}]),
        (r"(abc|(de|fgh)) xyz", [{" xyz"}]),
        (r"^abc$", [{"abc"}]),
        (r"(?:abc|defgh)x?", [{"abc", "defgh"}]),
    ],
)
def test_what_a_pattern_needs(pattern: str, needed: list[set[str]]) -> None:
    assert [set(literals) for literals in needed_by(pattern)] == needed


def test_a_group_that_is_not_closed_is_refused() -> None:
    with pytest.raises(AssertionError, match="not closed"):
        needed_by("abc) def")


def test_nearly_every_pattern_needs_something() -> None:
    assert sum(bool(needed_by(pattern)) for pattern in PATTERNS) > 0.98 * len(PATTERNS)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_a_pattern_matches_is_searched(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(PATTERNS))
    text = data.draw(st.from_regex(re.compile(pattern, re.MULTILINE)))
    assert may_match(needed_by(pattern), text)


def test_what_matches_in_known_texts_is_searched() -> None:
    texts = [case.text.lower() for case in (*corpus(), *held_out(FAMILIES), *held_out(EXAMINED))]
    for pattern in PATTERNS:
        needed, compiled = needed_by(pattern), re.compile(pattern, re.MULTILINE)
        for text in texts:
            assert may_match(needed, text) or compiled.search(text) is None, (pattern, text)
