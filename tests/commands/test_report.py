"""``gpumatrix report``: its formats, the files beside its output, and the history."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.cli import main
from pytest_gpumatrix.commands.report_formats import FORMATS
from pytest_gpumatrix.record import results
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import SessionFacts
from pytest_gpumatrix.record.junit_write import write_junit
from tests.history.runs import add, commit, histories
from tests.verdict.runs import cell, run

CONFIG = "version: 1\ndevices:\n  h100: {profile: h100-sxm}\n  rtx3090: {profile: rtx-3090}\n"
BAD = {"h100": {"t.py::a": "failed"}, "rtx3090": {"t.py::a": "passed"}}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "gpumatrix.yml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def write(
    folder: Path, cells: Mapping[str, Mapping[str, str | Cell]], *, at: int | None = 9, dirty: bool = False
) -> None:
    """The results of a run of a commit."""
    folder.mkdir(parents=True, exist_ok=True)
    for column in run(cells).columns:
        facts = SessionFacts(commit=commit(at), dirty=dirty) if at is not None else SessionFacts()
        path = folder / f"{column.device}.{column.evidence.value}.xml"
        write_junit(dataclasses.replace(column, facts=facts), path)


BEGINNINGS = {
    "terminal": "regression: ",
    "markdown": "## ",
    "json": "{\n",
    "html": "<!doctype html>",
    "annotations": "::error ",
    "sarif": '{"$schema": ',
}


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_on_the_screen_and_in_a_file(here: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    write(here / "head", BAD)
    assert main(["report", "head", "--format", form]) == 1
    shown = capsys.readouterr().out
    assert main(["report", "head", "--format", "json", "--output", "o", "--write", f"{form}=file"]) == 1
    written = (here / "file").read_text(encoding="utf-8")
    assert capsys.readouterr().out == ""
    for text in (shown, written):
        assert text.lower().startswith(BEGINNINGS[form].lower()) or BEGINNINGS[form] in text.splitlines()[0]


def test_several_files_are_written_of_one_reading(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    genuine = results.read_results

    def counted(folder: Path, **more: Any) -> results.Results:
        read.append(folder)
        return genuine(folder, **more)

    monkeypatch.setattr(results, "read_results", counted)
    write(here / "head", BAD)
    assert main(["report", "head", *(part for form in FORMATS for part in ("--write", f"{form}={form}.out"))]) == 1
    assert len(read) == 1
    assert all((here / f"{form}.out").stat().st_size > 0 for form in FORMATS)


@pytest.mark.parametrize("given", ["pdf=x", "html", "html=", "=x", "github=x"])
def test_what_is_not_format_and_file_is_refused(here: Path, capsys: pytest.CaptureFixture[str], given: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["report", "head", "--write", given])
    assert ended.value.code == 2
    assert "is not FORMAT=FILE; the formats are terminal, " in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_named_with_its_option(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "head", BAD)
    assert main(["report", "head", "--write", "json=none/report.json"]) == 2
    assert "--write none/report.json: cannot be written" in capsys.readouterr().err


def history_of(text: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(text)["history"]
    return found


def test_the_history_is_read_and_the_run_is_added_to_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = here / "history.sqlite"
    add(store, 1, {"h100": {"t.py::a": "passed"}})
    add(store, 2, {"h100": {"t.py::a": "failed"}})
    write(here / "head", BAD)
    arguments = ["report", "head", "--history", "history.sqlite", "--format", "json"]
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["history"]["t.py::a"]["h100"]["failing_since"]["commit"] == commit(2)
    assert "added 2 results of 000000000000 (h100 native, rtx3090 native)" in err
    assert len(histories(store, "t.py::a")["t.py::a"]["h100"].results) == 3
    content = store.read_bytes()
    assert main(arguments) == 1
    again, err = capsys.readouterr()
    assert again == out
    assert "has h100 native, rtx3090 native of 000000000000 already" in err
    assert store.read_bytes() == content


def test_the_first_run_makes_the_file(here: Path) -> None:
    write(here / "head", BAD)
    assert main(["report", "head", "--history", "history.sqlite"]) == 1
    assert "h100" in histories(here / "history.sqlite", "t.py::a")["t.py::a"]


def test_a_pull_request_reads_the_history_of_a_branch_and_adds_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = here / "history.sqlite"
    write(here / "head", BAD)
    arguments = ["report", "head", "--history", "history.sqlite", "--history-read-only", "--history-branch=main"]
    assert main([*arguments, "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert history_of(out) == {}
    assert "no history yet" in err
    assert not store.exists()
    add(store, 1, {"h100": {"t.py::a": "failed"}}, branch="main")
    add(store, 2, {"h100": {"t.py::a": "passed"}}, branch="try")
    before = store.read_bytes()
    assert main([*arguments, "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["history"]["t.py::a"]["h100"]["failing_since"]["commit"] == commit(1)
    assert err == ""
    assert store.read_bytes() == before


@pytest.mark.parametrize(
    ("at", "dirty", "reason"),
    [(9, True, "with uncommitted changes"), (None, False, "do not say which commit they are of")],
)
def test_what_is_of_no_commit_is_not_added_and_it_says_so(
    here: Path, capsys: pytest.CaptureFixture[str], at: int | None, dirty: bool, reason: str
) -> None:
    store = here / "history.sqlite"
    add(store, 1, {"h100": {"t.py::a": "failed"}})
    before = store.read_bytes()
    write(here / "head", BAD, at=at, dirty=dirty)
    assert main(["report", "head", "--history", "history.sqlite", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert "history.sqlite: this run is not added: " in err
    assert reason in err
    assert json.loads(out)["history"]["t.py::a"]["h100"]["failing_since"]["commit"] == commit(1)
    assert store.read_bytes() == before


def test_a_mistake_in_the_history_is_told_before_anything_is_read(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "history.sqlite").write_text("no database" * 20)
    assert main(["report", "none", "--history", "history.sqlite"]) == 2
    assert "history.sqlite: not a history file" in capsys.readouterr().err


def test_the_history_changes_no_verdict(here: Path) -> None:
    add(here / "history.sqlite", 1, {"h100": {"t.py::a": "failed"}, "rtx3090": {"t.py::a": "failed"}})
    good = {device: {"t.py::a": cell("t.py::a", "passed")} for device in ("h100", "rtx3090")}
    write(here / "head", good)
    assert main(["report", "head", "--history", "history.sqlite"]) == 0


def test_reading_tells_how_far_it_is(here: Path) -> None:
    write(here / "head", BAD)
    told: list[tuple[int, int]] = []
    results.read_results(here / "head", progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
