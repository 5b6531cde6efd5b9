"""The tables of the history file, and what tells the file from any other.

A row of ``result`` is kept small, for there is one per test, device and commit: 20,000 tests on 8 devices are 160,000
rows a commit, of about 20 bytes each where nothing was measured. They lie by run, so that adding and pruning a run
touch its own pages alone.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pytest_gpumatrix.errors import GpuMatrixError

APPLICATION_ID = 0x67706D78  # "gpmx": the file is ours (https://www.sqlite.org/pragma.html#pragma_application_id)
_MAGIC = b"SQLite format 3\0"  # how the 100 bytes of a header begin (https://www.sqlite.org/fileformat.html)
_HEADER = 100
# A text that UTF-8 cannot hold is a BLOB. ``good`` is 1, 0, or NULL where a result says nothing of the code.
_FIRST = (
    "CREATE TABLE revision (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, time REAL NOT NULL)",
    """CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  fingerprint BLOB NOT NULL UNIQUE,
  revision INTEGER NOT NULL REFERENCES revision,
  branch NOT NULL,
  device NOT NULL,
  evidence TEXT NOT NULL,
  added REAL NOT NULL
)""",
    "CREATE INDEX run_revision ON run (revision)",
    "CREATE TABLE test (id INTEGER PRIMARY KEY, name NOT NULL UNIQUE)",
    "CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    """CREATE TABLE metric (
  id INTEGER PRIMARY KEY,
  name NOT NULL,
  unit NOT NULL,
  better NOT NULL,
  UNIQUE (name, unit, better)
)""",
    """CREATE TABLE result (
  run INTEGER NOT NULL REFERENCES run,
  test INTEGER NOT NULL REFERENCES test,
  outcome INTEGER NOT NULL REFERENCES word,
  good INTEGER,
  reruns INTEGER NOT NULL,
  cause INTEGER REFERENCES word,
  microseconds INTEGER NOT NULL,
  metrics TEXT, -- JSON: {"id of the metric": median of its repeats}
  PRIMARY KEY (run, test)
) WITHOUT ROWID""",
    "CREATE INDEX result_suspect ON result (test) WHERE good = 0 OR reruns > 0",
)
STEPS: tuple[tuple[str, ...], ...] = (_FIRST,)  # STEPS[n] makes version n + 1 of version n; an empty file is version 0


def newest() -> int:
    """The version that this gpumatrix writes."""
    return len(STEPS)


def version_of(path: Path) -> int:
    """The version of a history file, 0 for an empty one. GpuMatrixError for any other file, or a newer one.

    Reads the header and nothing else: SQLite would already change a foreign database that a killed writer left.
    """
    try:
        if stat.S_ISFIFO(path.stat().st_mode):  # whose other end nobody may ever open
            raise GpuMatrixError(f"{path}: a pipe, not a history file; name a file")
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except OSError as error:
        raise GpuMatrixError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not header:
        return 0
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise GpuMatrixError(f"{path}: not a history file; it was left as it is. Name another file, or delete this one")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise GpuMatrixError(f"{path}: an SQLite file of another program; it was left as it is. Name another file")
    version = int.from_bytes(header[60:64], "big")
    if version > newest():
        raise GpuMatrixError(
            f"{path}: schema {version} of a newer gpumatrix (this one knows {newest()}); it was left as it is. "
            "Upgrade gpumatrix, or name another file"
        )
    return version


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest version, all steps or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for statement in _statements(version) if version < newest() else ():  # another process may have done it by now
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def is_intact(connection: sqlite3.Connection) -> bool:
    """Whether the tables are as this version makes them: a trigger or a view could do what no caller asks for."""
    with closing(sqlite3.connect(":memory:")) as blank:
        for statement in _statements(0):
            blank.execute(statement)
        return _tables(connection) == _tables(blank)


def _statements(version: int) -> Iterator[str]:
    for step in STEPS[version:]:
        yield from step
    yield f"PRAGMA application_id = {APPLICATION_ID}"
    yield f"PRAGMA user_version = {newest()}"


def _tables(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))
