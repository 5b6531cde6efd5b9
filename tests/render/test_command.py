"""A command in lines still is the command."""

from __future__ import annotations

import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.render.command import command_lines
from pytest_gpumatrix.render.text import width
from pytest_gpumatrix.verdict.reproduce import quote


def test_a_short_one_is_one_line() -> None:
    assert command_lines(["pytest", "--gpu-matrix", "a"], 80) == ["pytest --gpu-matrix a"]


def test_a_long_word_is_cut_between_two_quoted_halves() -> None:
    assert command_lines(["pytest", quote("t.py::a[" + "x" * 40 + "]")], 40) == [
        "pytest \\",
        "'t.py::a[xxxxxxxxxxxxxxxxxxxxxxxxxxxx'\\",
        "'xxxxxxxxxxxx]'",
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=120), max_size=6),
    st.integers(40, 100),
)
def test_a_shell_reads_back_the_same_words_and_no_line_is_too_long(words: list[str], columns: int) -> None:
    lines = command_lines(["printf", "'%s\\0'", *(quote(f"x{word}") for word in words)], columns)
    assert all(width(line) <= columns for line in lines)
    answer = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, check=True)
    assert answer.stdout.decode().split("\0")[:-1] == ([f"x{word}" for word in words] or [""])
