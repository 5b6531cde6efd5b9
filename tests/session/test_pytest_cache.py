from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_gpumatrix.session.pytest_cache import cache_of, copy_cache


def test_all_of_it_is_copied(tmp_path: Path) -> None:
    for name in ("v/cache/lastfailed", "v/a-plugin/value", "d/a-plugin/file"):
        (tmp_path / "cache" / name).parent.mkdir(parents=True)
        (tmp_path / "cache" / name).write_text(name)
    assert copy_cache(tmp_path / "cache", tmp_path / "new" / "copy") is None
    for name in ("v/cache/lastfailed", "v/a-plugin/value", "d/a-plugin/file"):
        assert (tmp_path / "new" / "copy" / name).read_text() == name


def test_a_cache_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert copy_cache(tmp_path / "cache", tmp_path / "copy") is None
    assert list((tmp_path / "copy").iterdir()) == []


def test_what_cannot_be_copied_is_said_and_the_rest_is_there(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "good").write_text("it")
    (tmp_path / "cache" / "dangling").symlink_to(tmp_path / "gone")
    problem = copy_cache(tmp_path / "cache", tmp_path / "copy")
    assert problem is not None
    assert str(tmp_path / "cache" / "dangling") in problem
    os.mkfifo(tmp_path / "cache" / "pipe")
    problem = copy_cache(tmp_path / "cache", tmp_path / "copy")
    assert problem is not None
    assert problem.endswith(", and 1 more")
    assert (tmp_path / "copy" / "good").read_text() == "it"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0)
    problem = copy_cache(tmp_path / "cache", tmp_path / "copy")
    assert problem is not None
    assert "Permission denied" in problem


@pytest.mark.parametrize(
    ("ini", "arguments", "folder"),
    [
        ("", (), ".pytest_cache"),
        ("", ("-p", "no:cacheprovider"), None),
        ("cache_dir = $A_FOLDER/cache", (), "a/cache"),
        ("cache_dir = ~/cache", (), "home/cache"),
        ("", ("-o", "cache_dir=other"), "other"),
    ],
)
def test_where_it_is(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    ini: str,
    arguments: tuple[str, ...],
    folder: str | None,
) -> None:
    monkeypatch.setenv("A_FOLDER", "a")
    monkeypatch.setenv("HOME", str(pytester.path / "home"))
    pytester.makeini(f"[pytest]\n{ini}\n")
    config = pytester.parseconfig(*arguments)
    assert cache_of(config) == (None if folder is None else pytester.path / folder)
