"""Results -> rows of the history."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_gpumatrix.history.interned import Interned
from pytest_gpumatrix.history.observation import MetricKind, Observation, observed
from pytest_gpumatrix.history.revision import Revision
from pytest_gpumatrix.history.store import HistoryStore
from pytest_gpumatrix.history.text import stored
from pytest_gpumatrix.record.column import Column


@dataclass(frozen=True, kw_only=True, slots=True)
class Added:
    """What became of a run's columns."""

    results: int  # that were added
    columns: tuple[str, ...]  # that were added: "h100 native"
    known: tuple[str, ...]  # that the history had


def add_run(store: HistoryStore, columns: Iterable[Column], revision: Revision, *, branch: str = "") -> Added:
    """Add a run: all its columns or, where anything goes wrong, none. One that is there already stays as it is."""
    kept = [(column, _observations(column)) for column in columns]
    added: list[str] = []
    known: list[str] = []
    count = 0
    with store.writing() as connection:
        at = _revision(connection, revision)
        texts = _Texts(connection)
        for column, cells in kept:
            name = f"{column.device} {column.evidence.value}"
            row = (_fingerprint(column, cells, revision), at, stored(branch), stored(column.device))
            cursor = connection.execute(
                "INSERT OR IGNORE INTO run (fingerprint, revision, branch, device, evidence, added)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (*row, column.evidence.value, time.time()),
            )
            if not cursor.rowcount or cursor.lastrowid is None:
                known.append(name)
                continue
            connection.executemany(
                "INSERT INTO result VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _rows(cursor.lastrowid, cells, texts)
            )
            added.append(name)
            count += len(cells)
    return Added(results=count, columns=tuple(added), known=tuple(known))


def _observations(column: Column) -> Mapping[str, Observation]:
    found = ((test, observed(cell, column)) for test, cell in column.cells.items())
    return {test: item for test, item in found if item is not None}


def _revision(connection: sqlite3.Connection, revision: Revision) -> int:
    """The commit's row. Its time is that of the first run: a later one of the same commit is not newer."""
    connection.execute("INSERT OR IGNORE INTO revision (hash, time) VALUES (?, ?)", (revision.commit, revision.time))
    (found,) = connection.execute("SELECT id FROM revision WHERE hash = ?", (revision.commit,)).fetchone()
    return int(found)


def _fingerprint(column: Column, cells: Mapping[str, Observation], revision: Revision) -> bytes:
    """What two runs share only if they are one: a test takes another number of microseconds each time."""
    digest = hashlib.sha256(repr((revision.commit, column.device, column.evidence.value)).encode())
    for test in sorted(cells):
        item = cells[test]
        metrics = [(*_kind(kind), value) for kind, value in item.metrics]
        told = (test, item.outcome.value, item.reruns, item.cause, item.microseconds, metrics)
        digest.update(repr(told).encode("utf-8", "backslashreplace"))
    return digest.digest()


def _rows(run: int, cells: Mapping[str, Observation], texts: _Texts) -> Iterable[tuple[object, ...]]:
    """In the order in which they will lie."""
    tests, words, metrics = texts.tests, texts.words, texts.metrics
    rows = []
    for test, item in cells.items():
        values = {metrics[_kind(kind)]: value for kind, value in item.metrics}
        rows.append(
            (
                run,
                tests[(test,)],
                words[(item.outcome.value,)],
                item.good,
                item.reruns,
                words[(item.cause,)] if item.cause else None,
                item.microseconds,
                json.dumps(values, separators=(",", ":")) if values else None,
            )
        )
    return sorted(rows, key=lambda row: row[1])


class _Texts:
    """The texts of the rows of one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.tests = Interned(connection, "test", ("name",))
        self.words = Interned(connection, "word", ("text",))
        self.metrics = Interned(connection, "metric", ("name", "unit", "better"))


def _kind(kind: MetricKind) -> tuple[str, str, str]:
    return kind.name, kind.unit, kind.better
