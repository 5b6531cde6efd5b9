"""The command of a red line runs the test that it names, whatever the test is called."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.verdict.reproduce import quote, reproduce_command


@pytest.mark.parametrize(
    ("test", "devices", "command"),
    [
        ("tests/test_a.py::test_b", ["h100"], "pytest --gpu-matrix --gpu-devices=h100 tests/test_a.py::test_b"),
        ("t.py::a[x y]", ["h100", "l40s"], "pytest --gpu-matrix --gpu-devices=h100,l40s 't.py::a[x y]'"),
        ("t.py::a", ["cpu"], "CUDA_VISIBLE_DEVICES= pytest --gpu-matrix t.py::a"),
        (
            "t.py::a['`@x|#1\n]",
            ["h100"],
            r"pytest --gpu-matrix --gpu-devices=h100 $'t.py::a[\x27\x60\x40x\x7c\x231\x0a]'",
        ),
        (
            "\u3164漢\uffa0\U00013441é",
            ["h100"],
            r"pytest --gpu-matrix --gpu-devices=h100 $'\xe3\x85\xa4漢\xef\xbe\xa0\xf0\x93\x91\x81é'",
        ),
        ("--pwn", ["h100"], "pytest --gpu-matrix --gpu-devices=h100 -- --pwn"),
    ],
)
def test_command(test: str, devices: list[str], command: str) -> None:
    assert " ".join(reproduce_command(test, devices)) == command


# No NUL: no command line can hold it.
@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=20))
def test_a_shell_reads_back_each_word(words: list[str]) -> None:
    script = "printf '%s\\0' " + " ".join(quote(f"x{word}") for word in words)
    answer = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert answer.stdout.decode().split("\0")[:-1] == [f"x{word}" for word in words]


@given(st.text())
def test_nothing_in_it_means_anything_to_a_terminal_or_to_markdown(text: str) -> None:
    quoted = quote(text).removeprefix("$")
    assert not set(quoted) & set("`<>|@#&\n\r\x1b\u202e")
    assert quoted.isprintable()
