"""Hostile text made fit to be shown, and measured."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.render.text import clean, clean_lines, fit, pad, width, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\r\n  and\ttabs", "two lines and tabs"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("bell\x07", "bell\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil", "\\u202eevil"),  # right-to-left override
        ("a\u200bb", "a\\u200bb"),  # zero-width space
        ("\ud800", "\\ud800"),  # half a pair: could not be written
        ("\U000e0041", "\\U000e0041"),  # a tag character
        ("\u3164\u2800x", "\\u3164\\u2800x"),  # letters without ink
        ("a\ufe00\U000e0101b\u17b4", "a\\ufe00\\U000e0101b\\u17b4"),  # marks without ink
        ("\u26a0\ufe0f", "\u26a0\ufe0f"),  # a sign in colour
        ("中é✓", "中é✓"),
        ("x" * 5000, "x" * 4000 + "…"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(), st.integers(0, 30))
def test_whatever_comes_in_is_one_printable_line_that_fits(text: str, columns: int) -> None:
    shown = clean(text)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    shown.encode("utf-8")
    assert width(fit(shown, columns)) <= columns
    assert width(fit(shown, columns, keep_end=True)) <= columns
    assert width(pad(shown, columns)) == columns
    assert all(width(line) <= 30 for line in wrap(shown, 30, indent="  ", hanging="    "))


def test_where_it_was_cut_is_seen() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert fit("abcdef", 4, keep_end=True) == "…def"
    assert fit("中中中", 4) == "中…"  # two columns each
    assert width("e\u0301") == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("def f():\n    return 1\n", "def f():\n    return 1"),
        ("a\r\n\tb\rc", "a\n    b\\x0dc"),
        ("\x1b[31mred\x1b[0m\n\u202eevil\x00", "red\n\\u202eevil\\x00"),
        ("x" * 40 + "y" * 40, "x" * 10 + "\n[... 50 characters cut ...]\n" + "y" * 20),
    ],
)
def test_lines_keep_their_indentation_and_lose_their_middle(text: str, shown: str) -> None:
    assert clean_lines(text, longest=30) == shown


@given(st.text())
def test_every_line_is_printable(text: str) -> None:
    lines = clean_lines(text, longest=50).split("\n")
    assert not {unicodedata.category(char) for line in lines for char in line} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
