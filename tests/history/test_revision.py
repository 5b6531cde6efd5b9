"""Which commit a run is kept under, and what is not kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_gpumatrix.history.revision import Revision, commit_time, revision_of
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.record.results import Results

HASH, OTHER = "a" * 40, "b" * 64


def results(*facts: SessionFacts) -> Results:
    columns = [
        Column(device=f"d{place}", evidence=Evidence.NATIVE, cells={}, facts=fact) for place, fact in enumerate(facts)
    ]
    return Results(columns=tuple(columns), broken={})


def asked(*facts: SessionFacts, commit: str | None = None, made: float | None = 5.0) -> Revision | str:
    return revision_of(results(*facts), commit=commit, time_of=lambda _commit: made, now=9.0)


CLEAN = SessionFacts(commit=HASH, dirty=False)


@pytest.mark.parametrize(
    ("facts", "commit", "time"),
    [
        ([CLEAN], None, 5.0),
        ([CLEAN, SessionFacts()], None, 5.0),  # the files of another pytest beside ours
        ([SessionFacts()], HASH, 5.0),
        ([SessionFacts()], OTHER, 5.0),
        ([CLEAN], HASH, 5.0),
    ],
)
def test_kept(facts: list[SessionFacts], commit: str | None, time: float) -> None:
    assert asked(*facts, commit=commit) == Revision(commit=commit or HASH, time=time)


def test_a_commit_of_the_future_is_as_old_as_it_is_known() -> None:
    assert asked(CLEAN, made=1e18) == Revision(commit=HASH, time=9.0)


@pytest.mark.parametrize(
    ("facts", "commit", "reason"),
    [
        ([], None, "do not say which commit"),
        ([SessionFacts()], None, "do not say which commit"),
        ([SessionFacts(commit=HASH, dirty=True)], None, "with uncommitted changes on aaaaaaaaaaaa"),
        ([CLEAN, SessionFacts(commit=HASH, dirty=True)], None, "with uncommitted changes"),
        ([SessionFacts(commit=HASH)], None, "is not known"),
        ([SessionFacts(dirty=True)], HASH, "with uncommitted changes"),
        ([CLEAN], OTHER, "of commit aaaaaaaaaaaa, not of bbbbbbbbbbbb"),
        ([SessionFacts()], "main", "'main' is not the full hash"),
        ([SessionFacts()], HASH[:12], "is not the full hash"),
        ([SessionFacts(commit="--output=/etc/passwd", dirty=False)], None, "is not the full hash"),
        ([SessionFacts(commit=f"{HASH}\n", dirty=False)], None, "is not the full hash"),
    ],
)
def test_not_kept_and_why(facts: list[SessionFacts], commit: str | None, reason: str) -> None:
    said = asked(*facts, commit=commit)
    assert isinstance(said, str)
    assert reason in said


def test_a_commit_that_git_does_not_have_is_as_old_as_its_first_run() -> None:
    assert asked(CLEAN, made=None) == Revision(commit=HASH, time=9.0)


def test_git_knows_when_a_commit_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Developer")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "developer@example.com")
        monkeypatch.setenv(f"GIT_{role}_DATE", "1700000000 +0500")
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    answer = subprocess.run(
        ["git", "-C", str(tmp_path), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    assert commit_time(answer.stdout.strip(), tmp_path) == 1_700_000_000.0
    assert commit_time(HASH, tmp_path) is None


def test_where_there_is_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert commit_time(HASH, tmp_path) is None
