"""The history file, open: whole transactions, and errors that name the file and the way out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.history import schema

_PATIENCE = 60.0  # seconds to wait for another process that writes
_CACHE = 256 * 1024  # KiB of the file kept in memory while it is read
# A rollback journal, not a write-ahead log: between two transactions the file alone is the whole history, so that a
# cache or a copy of it is complete; and a log needs memory that all its processes share, which no network has.
_SETTINGS = ("PRAGMA journal_mode = DELETE", "PRAGMA trusted_schema = OFF", f"PRAGMA cache_size = -{_CACHE}")
_REMEDIES = (
    ("locked", "another process has been writing it for a minute; try again"),
    ("readonly", "it cannot be written; check the permissions of the file and its folder"),
    ("unable to open", "it cannot be opened; check the permissions of the file and its folder"),
    ("full", "the disk is full; nothing was added"),
    ("malformed", "it is damaged; put back a copy of it, or delete it to begin anew"),
    ("not a database", "it is damaged; put back a copy of it, or delete it to begin anew"),
)


class HistoryStore:
    """An open history file. ``with open_history(path) as store`` closes it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def __enter__(self) -> HistoryStore:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the file, whatever others write meanwhile; temporary tables last as long."""
        with self._transaction("BEGIN", "ROLLBACK") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """What is written here is kept whole, or not at all."""
        with self._transaction("BEGIN IMMEDIATE", "COMMIT") as connection:
            yield connection

    def shrink(self) -> None:
        """Give free pages back to the file system."""
        with _told(self.path):
            self._connection.execute("VACUUM")

    @contextmanager
    def _transaction(self, begin: str, end: str) -> Iterator[sqlite3.Connection]:
        with _told(self.path):
            self._connection.execute(begin)
            try:
                yield self._connection
                self._connection.execute(end)
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def open_history(path: Path, *, create: bool = False) -> HistoryStore:
    """Open a history file, of an older schema too. ``create``: make it where there is none.

    GpuMatrixError where it is not there, is another program's, is newer, is damaged or cannot be read.
    """
    version = schema.version_of(path) if path.exists() or not create else 0
    if version == 0 and not create:
        raise GpuMatrixError(f"{path}: an empty file; `gpumatrix history add RESULTS --store {path}` fills it")
    with _told(path):
        uri = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            for setting in _SETTINGS:
                connection.execute(setting)
            # Not by the header that was read: what a killed writer left of the first transaction is undone by now.
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version < schema.newest():
                schema.migrate(connection)
            intact = schema.is_intact(connection)
        except BaseException:
            connection.close()
            raise
    if not intact:
        connection.close()
        raise GpuMatrixError(f"{path}: its tables are not those of schema {schema.newest()}; it was left as it is")
    return HistoryStore(path, connection)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of SQLite in words for the user."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        remedy = next((words for part, words in _REMEDIES if part in text), text)
        raise GpuMatrixError(f"{path}: {remedy} ({text})" if remedy != text else f"{path}: {text}") from error
