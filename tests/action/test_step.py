"""What a step tells its runner cannot be bent by what it tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.github import step
from tests.action.runner import read_outputs

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))


@given(values=st.dictionaries(st.sampled_from(["verdict", "headline", "json"]), _TEXT))
def test_any_value_arrives_whole_and_alone(values: dict[str, str]) -> None:
    text = "".join(step.format_output(name, value) for name, value in values.items())
    assert read_outputs(text) == values


@pytest.mark.parametrize("value", ["h100\npwned=1", "h100\npwned<<EOF\n1\nEOF", "gpumatrix-\ngpumatrix-0", "\n\n"])
def test_a_line_of_a_value_is_no_output(value: str) -> None:
    assert read_outputs(step.format_output("device", value)) == {"device": value}


def test_a_delimiter_that_the_value_has_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(["aa", "aa", "bb"])
    monkeypatch.setattr("secrets.token_hex", lambda _size: next(tokens))
    value = "one\ngpumatrix-aa\npwned=1"
    assert step.format_output("headline", value) == f"headline<<gpumatrix-bb\n{value}\ngpumatrix-bb\n"


def test_two_delimiters_differ() -> None:
    assert step.format_output("a", "") != step.format_output("a", "")


def test_outputs_and_summary_are_added_to(tmp_path: Path) -> None:
    environ = {"GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    step.write_outputs(environ, {"a": "1"})
    step.write_outputs(environ, {"b": "2\n3"})
    step.write_summary(environ, "# one\n")
    step.write_summary(environ, "lone surrogate \ud800 \u2713\n")
    assert read_outputs((tmp_path / "output").read_text(encoding="utf-8")) == {"a": "1", "b": "2\n3"}
    assert (tmp_path / "summary").read_text(encoding="utf-8") == "# one\nlone surrogate ? \u2713\n"


@pytest.mark.parametrize("environ", [{}, {"GITHUB_OUTPUT": ""}])
def test_outside_of_a_workflow_it_says_so(environ: dict[str, str]) -> None:
    with pytest.raises(GpuMatrixError, match="GITHUB_OUTPUT is not set"):
        step.write_outputs(environ, {"a": "1"})


def test_the_log_is_text_from_then_on(capsys: pytest.CaptureFixture[str]) -> None:
    step.stop_commands()
    step.stop_commands()
    first, second = capsys.readouterr().out.splitlines()
    assert first != second
    assert first.startswith("::stop-commands::")
    assert len(first) == len("::stop-commands::") + 32
