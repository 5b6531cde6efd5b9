"""Which commits the history keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_gpumatrix.history.store import HistoryStore

_DAY = 86_400.0  # seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruned:
    """What became of the history."""

    commits: int  # that were removed
    kept: int


def prune(store: HistoryStore, *, days: int | None, commits: int | None, now: float) -> Pruned:
    """Remove the commits that are neither of the last ``days`` nor among the newest ``commits``."""
    with store.writing() as connection:
        known = connection.execute("SELECT id, time FROM revision ORDER BY time DESC, id DESC").fetchall()
        gone = [(number,) for number in outdated(known, days=days, commits=commits, now=now)]
        connection.executemany("DELETE FROM result WHERE run IN (SELECT id FROM run WHERE revision = ?)", gone)
        connection.executemany("DELETE FROM run WHERE revision = ?", gone)
        connection.executemany("DELETE FROM revision WHERE id = ?", gone)
        if gone:
            connection.execute("DELETE FROM test WHERE id NOT IN (SELECT test FROM result)")
    if gone:
        store.shrink()
    return Pruned(commits=len(gone), kept=len(known) - len(gone))


def outdated(
    newest_first: Sequence[tuple[int, float]], *, days: int | None, commits: int | None, now: float
) -> list[int]:
    """Of commits (id, time), those that neither limit keeps."""
    recent = 0 if commits is None else commits
    since = now if days is None else now - days * _DAY
    return [number for place, (number, time) in enumerate(newest_first) if place >= recent and time < since]
