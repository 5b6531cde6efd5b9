"""The file: what is ours, what is not, and what another version or a vandal left."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.history import schema
from pytest_gpumatrix.history.store import open_history
from tests.history.runs import add, histories


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "history.sqlite"
    add(path, 1, {"h100": {"t": "failed"}})
    return path


def test_a_new_file_says_whose_it_is_and_is_one_file(filled: Path) -> None:
    assert schema.version_of(filled) == schema.newest()
    assert [path.name for path in filled.parent.iterdir()] == ["history.sqlite"]
    header = filled.read_bytes()[:100]
    assert header[68:72] == b"gpmx"
    assert header[18:20] == b"\x01\x01"  # a rollback journal, no write-ahead log


def test_what_another_tool_set_to_a_log_is_one_file_again(filled: Path) -> None:
    sql(filled, "PRAGMA journal_mode = WAL")
    add(filled, 2, {"h100": {"t": "failed"}})
    assert [path.name for path in filled.parent.iterdir()] == ["history.sqlite"]


def foreign(path: Path) -> None:
    sql(path, "CREATE TABLE users (name)", "INSERT INTO users VALUES ('kept')")


def newer(path: Path) -> None:
    add(path, 1, {"h100": {"t": "failed"}})
    sql(path, f"PRAGMA user_version = {schema.newest() + 1}", "CREATE TABLE more (a)")


def truncated(path: Path) -> None:
    add(path, 1, {"h100": {f"t{number}": "failed" for number in range(2000)}})
    path.write_bytes(path.read_bytes()[:5000])


def scribbled(path: Path) -> None:
    add(path, 1, {"h100": {f"t{number}": "failed" for number in range(2000)}})
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)


def with_a_trigger(path: Path) -> None:
    add(path, 1, {"h100": {"t": "failed"}})
    sql(path, "CREATE TRIGGER vandal AFTER INSERT ON run BEGIN DELETE FROM result; END")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_text("version: 1\n" * 50), "not a history file"),
        (lambda path: path.write_bytes(b"SQLite format 3\0"), "not a history file"),
        (foreign, "an SQLite file of another program"),
        (newer, "of a newer gpumatrix"),
        (truncated, "it is damaged"),
        (scribbled, "it is damaged"),
        (with_a_trigger, "its tables are not those of schema"),
    ],
)
def test_a_file_that_is_not_to_be_written_is_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    path = tmp_path / "history.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(GpuMatrixError, match=words) as told:
        add(path, 2, {"h100": {"t": "passed"}})
    assert str(path) in str(told.value)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["history.sqlite"]


def test_a_newer_version_is_told_even_while_it_is_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.sqlite"
    newer(path)
    monkeypatch.setattr(schema, "version_of", lambda _path: 0)  # read before the other process had written it
    before = path.read_bytes()
    with pytest.raises(GpuMatrixError, match="its tables are not those"):
        open_history(path, create=True)
    assert path.read_bytes() == before


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    path.touch()
    with pytest.raises(GpuMatrixError, match="an empty file"):
        open_history(path)
    add(path, 1, {"h100": {"t": "failed"}})
    assert "t" in histories(path, "t")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(GpuMatrixError, match="a pipe, not a history file"):
        open_history(path)


def test_a_first_writer_that_was_killed_left_an_empty_history(filled: Path) -> None:
    """It was ended between its pages and its commit: the journal undoes the whole file."""
    path = filled.with_name("killed.sqlite")
    killed = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("CREATE TABLE large (content)")
connection.execute("INSERT INTO large SELECT zeroblob(5000000)")  # so that the journal is written out
os._exit(1)
"""
    subprocess.run([sys.executable, "-c", killed, path], check=False)
    path.write_bytes(filled.read_bytes())
    assert path.with_name("killed.sqlite-journal").stat().st_size > 0
    assert schema.version_of(path) == schema.newest()
    add(path, 2, {"h100": {"u": "failed"}})
    assert set(histories(path, "t", "u")) == {"u"}


def test_who_writes_is_alone_before_the_first_statement(filled: Path) -> None:
    with (
        open_history(filled) as store,
        store.writing(),
        closing(sqlite3.connect(filled, timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")


@pytest.mark.parametrize("create", [False, True])
def test_a_folder_is_no_file(tmp_path: Path, create: bool) -> None:
    with pytest.raises(GpuMatrixError, match="Is a directory"):
        open_history(tmp_path, create=create)


def test_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(GpuMatrixError, match="No such file"):
        open_history(tmp_path / "history.sqlite")
    with pytest.raises(GpuMatrixError, match="cannot be opened"):
        open_history(tmp_path / "none" / "history.sqlite", create=True)
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_a_name_and_no_address(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory&cache=shared#%41.sqlite"
    add(path, 1, {"h100": {"t": "failed"}})
    assert path.is_file()


def test_an_older_file_is_brought_up_to_date_and_keeps_what_it_has(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, ("ALTER TABLE run ADD COLUMN runner TEXT",)))
    assert schema.version_of(filled) == 1
    assert histories(filled, "t")["t"]["h100"].failing_since is not None
    assert schema.version_of(filled) == 2
    add(filled.with_name("new.sqlite"), 1, {"h100": {"t": "failed"}})
    assert schema.version_of(filled.with_name("new.sqlite")) == 2


def test_a_step_that_fails_leaves_the_older_file(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = filled.read_bytes()
    steps = (*schema.STEPS, ("ALTER TABLE run ADD COLUMN runner TEXT", "ALTER TABLE none ADD COLUMN a"))
    monkeypatch.setattr(schema, "STEPS", steps)
    with pytest.raises(GpuMatrixError, match="no such table"):
        open_history(filled)
    assert filled.read_bytes() == before


def test_what_fails_within_a_transaction_is_not_kept(filled: Path) -> None:
    before = filled.read_bytes()
    with open_history(filled) as store:
        with pytest.raises(GpuMatrixError, match="no such table"), store.writing() as connection:
            connection.executemany("DELETE FROM result WHERE run = ?", [(1,)]).execute("DELETE FROM none")
        with store.reading() as connection:
            assert connection.execute("SELECT count(*) FROM result").fetchone() == (1,)
    assert filled.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE word SET text = 'splendid' WHERE text = 'failed'",
        "UPDATE revision SET hash = x'ff'",
        "UPDATE revision SET hash = '::error::' || char(10) || hash",
        "UPDATE revision SET time = 'long ago'",
        "UPDATE result SET microseconds = 9e999",
        "UPDATE result SET metrics = '" + "[" * 100_000 + "'",
    ],
)
def test_a_value_that_nobody_wrote_is_damage(filled: Path, statement: str) -> None:
    sql(filled, statement)
    with pytest.raises(GpuMatrixError, match="it is damaged"):
        histories(filled, "t")
