"""Texts that many rows share, each kept once."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from pytest_gpumatrix.history.text import stored


class Interned(dict[tuple[str, ...], int]):
    """The ids of a table's rows by their texts; a row is made where there is none. For one transaction."""

    def __init__(self, connection: sqlite3.Connection, table: str, columns: Sequence[str]) -> None:
        super().__init__()
        names, marks = ", ".join(columns), ", ".join("?" for _ in columns)
        where = " AND ".join(f"{name} = ?" for name in columns)
        self._connection = connection
        # The names are this program's own, never taken from outside.
        self._select = f"SELECT id FROM {table} WHERE {where}"  # noqa: S608
        self._insert = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608

    def __missing__(self, texts: tuple[str, ...]) -> int:
        values = tuple(stored(text) for text in texts)
        row = self._connection.execute(self._select, values).fetchone()
        if row is None:
            row = (self._connection.execute(self._insert, values).lastrowid,)
        self[texts] = int(row[0])
        return self[texts]
