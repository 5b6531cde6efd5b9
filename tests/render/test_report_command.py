"""``gpumatrix report``: the whole path from files to an exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_gpumatrix.cli import main
from pytest_gpumatrix.record.junit_write import write_junit
from tests.verdict.runs import run

CONFIG = "version: 1\ndevices:\n  h100: {profile: h100-sxm}\n  rtx3090: {profile: rtx-3090}\n"
GOOD = {"h100": {"t.py::a": "passed"}, "rtx3090": {"t.py::a": "passed"}}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a gpumatrix.yml and good base results, and the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "gpumatrix.yml").write_text(CONFIG, encoding="utf-8")
    write(tmp_path / "base", GOOD)
    return tmp_path


def write(folder: Path, columns: dict[str, dict[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for column in run(columns).columns:
        write_junit(column, folder / f"{column.device}.{column.evidence.value}.xml")


@pytest.mark.parametrize(
    ("head", "exit_code", "word"),
    [
        (GOOD, 0, "ok"),
        ({**GOOD, "h100": {"t.py::a": "failed"}}, 1, "regression"),
        ({"h100": {"t.py::a": "passed"}}, 3, "incomplete"),
    ],
)
@pytest.mark.parametrize("how", ["terminal", "markdown", "json"])
def test_each_format_and_exit_code(
    here: Path, capsys: pytest.CaptureFixture[str], head: dict[str, dict[str, str]], exit_code: int, word: str, how: str
) -> None:
    write(here / "head", head)
    assert main(["report", "head", "--base", "base", "--format", how]) == exit_code
    out = capsys.readouterr().out
    assert word in out.splitlines()[3 if how == "json" else 0] or json.loads(out)["verdict"] == word


def test_a_hopper_only_regression_is_one_red_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "head", {**GOOD, "h100": {"t.py::a": "failed"}})
    assert main(["report", "head", "--base", "base", "--format", "json"]) == 1
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["change"], change["scope"], change["red"]) == ("new-failure", "Hopper only", True)


def test_a_file_that_is_cut_off_leaves_its_device_missing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "head", GOOD)
    path = here / "head" / "h100.native.xml"
    path.write_bytes(path.read_bytes()[:120])
    assert main(["report", "head", "--base", "base", "--format", "json"]) == 3
    (missing,) = json.loads(capsys.readouterr().out)["missing_devices"]
    assert missing["device"] == "h100"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none"], ["none", "no such folder"]),
        (["base", "--base", "none"], ["none", "no such folder"]),
        (["base", "--config", "none.yml"], ["none.yml"]),
        (["base", "--output", "none/report.json"], ["none/report.json", "cannot be written"]),
        (["base", "--output", "base"], ["base", "cannot be written"]),
    ],
)
def test_a_mistake_is_exit_2_and_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    assert main(["report", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gpumatrix: error: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_a_config_with_a_mistake_is_named_by_line_and_cannot_paint_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "gpumatrix.yml").write_text(CONFIG + 'fail-on: ["\\e[31mred"]\n', encoding="utf-8")
    assert main(["report", "base"]) == 2
    err = capsys.readouterr().err
    assert "gpumatrix.yml:5: " in err
    assert "\x1b" not in err


def test_no_baseline_is_said_and_is_no_error(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "base"]) == 0
    assert "no baseline" in capsys.readouterr().out


def test_output_is_whole_or_what_was_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = here / "report.md"
    output.write_text("before", encoding="utf-8")
    write(here / "head", GOOD)
    assert main(["report", "head", "--base", "none", "--format", "markdown", "--output", "report.md"]) == 2
    assert output.read_text(encoding="utf-8") == "before"
    assert main(["report", "head", "--format", "markdown", "--output", "report.md"]) == 0
    assert output.read_text(encoding="utf-8").startswith("## ✅ gpumatrix: ok")
    assert sorted(path.name for path in here.iterdir()) == ["base", "gpumatrix.yml", "head", "report.md"]
    assert capsys.readouterr().out == ""


def test_a_file_that_is_refused_is_named_and_the_others_are_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here / "head", {**GOOD, "h100": {"t.py::a": "failed"}})
    (here / "head" / "rtx3090.native.xml").write_text("no XML", encoding="utf-8")
    assert main(["report", "head", "--base", "base", "--format", "json"]) == 2
    report = json.loads(capsys.readouterr().out)
    assert (report["verdict"], report["exit_code"]) == ("regression", 2)
    (refused,) = report["refused"]
    assert refused.endswith("rtx3090.native.xml")


def test_without_a_config_the_devices_are_those_with_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "head", {"h100": {"t.py::a": "passed"}})
    assert main(["report", "head"]) == 0
    assert "no gpumatrix.yml: no device is expected" in capsys.readouterr().out


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("1", False), ("", True)])
def test_colour_on_a_terminal_unless_no_color(
    here: Path, monkeypatch: pytest.MonkeyPatch, no_color: str | None, coloured: bool
) -> None:
    if no_color is None:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", no_color)
    controller, terminal = os.openpty()
    with os.fdopen(terminal, "w", encoding="utf-8") as screen:
        monkeypatch.setattr("sys.stdout", screen)
        assert main(["report", "base"]) == 0
    shown = os.read(controller, 100_000)
    os.close(controller)
    assert (b"\x1b[" in shown) is coloured


def test_help_has_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["report", "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "gpumatrix report results --base base-results" in out
    assert "exit codes" in out


def test_an_unknown_command_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reprot"])
    assert ended.value.code == 2


def test_the_page_says_whose_report_it_is(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    write(here / "head", GOOD)
    assert main(["report", "head", "--base", "base", "--write", "html=page.html"]) == 0
    assert "<title>ok: head</title>" in (here / "page.html").read_text(encoding="utf-8")
    monkeypatch.setenv("GITHUB_REPOSITORY", "example/trainer")
    monkeypatch.setenv("GITHUB_REF", "refs/pull/7/merge")
    assert main(["report", "head", "--base", "base", "--format", "html", "--output", "page.html"]) == 0
    assert "<title>ok: example/trainer #7</title>" in (here / "page.html").read_text(encoding="utf-8")
