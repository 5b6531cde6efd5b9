"""``gpumatrix expect``: from a folder of results to entries for gpumatrix.yml."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_gpumatrix.cli import main
from pytest_gpumatrix.config.load import load_config
from pytest_gpumatrix.record.junit_write import write_junit
from tests.verdict.runs import run

CONFIG = "version: 1\ndevices:\n  h100: {profile: h100-sxm}\n  rtx3090: {profile: rtx-3090}\n"
HEAD = {"h100": {"a.py::t[1]": "passed"}, "rtx3090": {"a.py::t[1]": "failed", "a.py::t[2]": "failed"}}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a gpumatrix.yml, and the working folder."""
    (tmp_path / "gpumatrix.yml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def results(folder: Path, columns: Mapping[str, Mapping[str, str]]) -> str:
    folder.mkdir()
    for column in run(columns).columns:
        write_junit(column, folder / f"{column.device}.native.xml")
    return str(folder)


def test_it_prints_entries_and_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = results(here / "head", HEAD)
    assert main(["expect", "--from", head, "--until", "2999-01-01", "--reason", "tracked"]) == 0
    text = capsys.readouterr().out
    assert (here / "gpumatrix.yml").read_text(encoding="utf-8") == CONFIG
    (here / "gpumatrix.yml").write_text(CONFIG + text, encoding="utf-8")
    (entry,) = load_config(here / "gpumatrix.yml").expectations
    assert (entry.test.text, entry.devices.text, entry.reason) == ("a.py::t[*]", "rtx3090", "tracked")
    assert entry.until == datetime.date(2999, 1, 1)
    assert main(["report", head]) == 0


def test_json_and_the_day_it_ends(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    assert main(["expect", "--from", results(here / "head", HEAD), "--format", "json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["expectations"]
    assert (entry["devices"], entry["tests"], entry["cells"]) == ("rtx3090", 2, 2)
    assert 89 <= (datetime.date.fromisoformat(entry["until"]) - today).days <= 90  # midnight may pass in between


def test_against_a_base(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, base = results(here / "head", HEAD), results(here / "base", {"rtx3090": {"a.py::t[1]": "failed"}})
    assert main(["expect", "--from", head, "--base", base]) == 0
    assert '- test: "a.py::t[2]"' in capsys.readouterr().out


def test_a_refused_file_is_named_and_the_others_are_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = results(here / "head", HEAD)
    (here / "head" / "h100.native.xml").write_text("<!DOCTYPE x><testsuites/>", encoding="utf-8")
    assert main(["expect", "--from", head]) == 2
    said = capsys.readouterr()
    assert "h100.native.xml" in said.err
    assert "rtx3090" in said.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "none"], "no such folder"),
        (["--from", "head", "--until", "2020-01-01"], "2020-01-01 is over"),
        (["--from", "head", "--config", "none.yml"], "cannot be read"),
    ],
)
def test_mistakes_are_named(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    results(here / "head", HEAD)
    assert main(["expect", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_it_needs_devices_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["expect", "--from", results(tmp_path / "head", HEAD)]) == 2
    assert "no gpumatrix.yml here or above" in capsys.readouterr().err


def test_a_wrong_date_says_the_right_form(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["expect", "--from", "head", "--until", "soon"])
    assert ended.value.code == 2
    assert "write 2027-06-01" in capsys.readouterr().err
