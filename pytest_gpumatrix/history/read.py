"""Rows of the history -> the histories of cells. Only native results count: the others are of another machine."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.history.observation import MetricKind
from pytest_gpumatrix.history.revision import is_full_hash
from pytest_gpumatrix.history.seen import NEWEST, Seen, history_of, is_settled
from pytest_gpumatrix.history.store import HistoryStore
from pytest_gpumatrix.history.text import restored, stored
from pytest_gpumatrix.record.cell_history import CellHistory
from pytest_gpumatrix.record.outcome import Evidence, Outcome

Cells = Mapping[str, Mapping[str, CellHistory]]  # by test, then device
# Rows lie by run, so the runs are gone through in their order, and the wanted tests looked up in each.
_RESULTS = """\
SELECT wanted_run.run, wanted_test.test, outcome, good, reruns, microseconds, metrics
FROM temp.wanted_run CROSS JOIN temp.wanted_test CROSS JOIN main.result
WHERE result.run = wanted_run.run AND result.test = wanted_test.test
"""
# The condition in brackets is that of the index of the few results that are bad or were rerun.
_FLAKY = """\
WITH flake AS (
  SELECT test FROM result JOIN temp.wanted_run USING (run) WHERE (good = 0 OR reruns > 0) AND good = 1
  UNION ALL
  SELECT result.test FROM result
  JOIN temp.wanted_run USING (run)
  JOIN run AS one ON one.id = result.run
  JOIN run AS other USING (revision, device, evidence)
  JOIN result AS contrary ON contrary.run = other.id AND contrary.test = result.test AND contrary.good = 1
  WHERE (result.good = 0 OR result.reruns > 0) AND result.good = 0 AND other.id <> one.id
)
SELECT name FROM flake JOIN test ON test.id = flake.test GROUP BY test.id ORDER BY count(*) DESC, test.id LIMIT ?
"""
_FAILING = """\
SELECT name FROM temp.wanted_run JOIN result USING (run) JOIN test ON test.id = result.test
WHERE good = 0 GROUP BY test.id ORDER BY count(*) DESC, test.id LIMIT ?
"""
_RUNS = """\
SELECT run.id, device, hash, time FROM run JOIN revision ON revision.id = revision
WHERE evidence = ? AND (? IS NULL OR branch = ?) ORDER BY time, revision.id, run.id
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    """One column of the history."""

    id: int
    device: str
    commit: str
    time: float


def cell_histories(
    store: HistoryStore,
    tests: Collection[str],
    *,
    branch: str | None = None,
    present: Mapping[tuple[str, str], Seen] | None = None,
) -> Cells:
    """The history of each test on each device that has one, in this order of tests. ``branch``: of its runs alone.

    ``present``, by test and device, are results of these tests that the store may not have; they are the newest.
    """
    with store.reading() as connection, _undamaged(store):
        runs = _runs(connection, branch)
        recent = _recent(runs)
        ids = _test_ids(connection, tests)
        seen = _seen(connection, recent, ids)
        for key, item in (present or {}).items():
            seen[key] = [*(other for other in seen.get(key, ()) if not _same(other, item)), item]
        open_ended = {key for key, results in seen.items() if not is_settled(results)}
        older = _older(connection, runs, recent, ids, open_ended)
    found: dict[str, dict[str, CellHistory]] = {}
    place = {test: number for number, test in enumerate(tests)}
    for test, device in sorted(seen, key=lambda key: (place[key[0]], key[1])):
        history = history_of(seen[test, device], older=older.get((test, device), ()))
        found.setdefault(test, {})[device] = history
    return found


def flaky_tests(store: HistoryStore, most: int, *, branch: str | None = None) -> tuple[str, ...]:
    """The tests that passed by reruns, or were good and bad for one commit, most often in the newest commits."""
    return _tests(store, _FLAKY, most, branch, lambda runs: runs)


def failing_tests(store: HistoryStore, most: int, *, branch: str | None = None) -> tuple[str, ...]:
    """The tests that fail in the newest run of a device, those of most devices first."""
    return _tests(store, _FAILING, most, branch, lambda runs: list({run.device: run for run in runs}.values()))


def _tests(
    store: HistoryStore, query: str, most: int, branch: str | None, chosen: Callable[[list[_Run]], list[_Run]]
) -> tuple[str, ...]:
    with store.reading() as connection, _undamaged(store):
        _want_runs(connection, chosen(_recent(_runs(connection, branch))))
        return tuple(restored(name) for (name,) in connection.execute(query, (most,)))


def known_tests(store: HistoryStore) -> tuple[str, ...]:
    """Every test that the history has heard of, by name."""
    with store.reading() as connection, _undamaged(store):
        return tuple(sorted(restored(name) for (name,) in connection.execute("SELECT name FROM test")))


@contextmanager
def _undamaged(store: HistoryStore) -> Iterator[None]:
    """A value that this program never writes."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise GpuMatrixError(
            f"{store.path}: it is damaged ({error}); put back a copy of it, or delete it to begin anew"
        ) from error


def _branch(branch: str | None) -> tuple[str | bytes | None, str | bytes | None]:
    value = None if branch is None else stored(branch)
    return value, value


def _runs(connection: sqlite3.Connection, branch: str | None) -> list[_Run]:
    """Native runs, oldest commit first, in the order in which they were added within one."""
    rows = connection.execute(_RUNS, (Evidence.NATIVE.value, *_branch(branch)))
    return [
        _Run(id=run, device=restored(device), commit=_hash(commit), time=float(time))
        for run, device, commit, time in rows
    ]


def _hash(commit: object) -> str:
    """A commit as this program writes it: what is shown of it is nothing else."""
    if isinstance(commit, str) and is_full_hash(commit):
        return commit
    raise ValueError(f"commit {commit!r:.80}")


def _recent(runs: Sequence[_Run]) -> list[_Run]:
    """Those of the newest commits of each device."""
    commits: dict[str, dict[str, None]] = {}
    for run in reversed(runs):
        commits.setdefault(run.device, {})[run.commit] = None
    newest = {device: set(list(own)[:NEWEST]) for device, own in commits.items()}
    return [run for run in runs if run.commit in newest[run.device]]


def _test_ids(connection: sqlite3.Connection, tests: Iterable[str]) -> dict[int, str]:
    found: dict[int, str] = {}
    for test in tests:
        row = connection.execute("SELECT id FROM test WHERE name = ?", (stored(test),)).fetchone()
        if row is not None:
            found[row[0]] = test
    return found


def _older(
    connection: sqlite3.Connection,
    runs: Sequence[_Run],
    recent: Sequence[_Run],
    ids: Mapping[int, str],
    wanted: Collection[tuple[str, str]],
) -> dict[tuple[str, str], list[Seen]]:
    """Of cells that fail as far back as the recent runs go, all that came before."""
    tests, devices = {test for test, _ in wanted}, {device for _, device in wanted}
    left_out = {run.id for run in recent}
    before = [run for run in runs if run.device in devices and run.id not in left_out]
    if not before:
        return {}
    return _seen(connection, before, {number: test for number, test in ids.items() if test in tests})


def _seen(
    connection: sqlite3.Connection, runs: Sequence[_Run], tests: Mapping[int, str]
) -> dict[tuple[str, str], list[Seen]]:
    """The results of tests in runs, in the order of the runs."""
    _want_runs(connection, runs)
    _fill(connection, "wanted_test", "test INTEGER PRIMARY KEY", [(test,) for test in tests])
    words = dict(connection.execute("SELECT id, text FROM word"))
    kinds = {
        str(number): MetricKind(name=restored(name), unit=restored(unit), better=restored(better))
        for number, name, unit, better in connection.execute("SELECT id, name, unit, better FROM metric")
    }
    outcomes = {number: Outcome(text) for number, text in words.items() if text in {item.value for item in Outcome}}
    by_id = {run.id: run for run in runs}
    found: dict[tuple[str, str], list[Seen]] = {}
    for run_id, test, outcome, good, reruns, microseconds, metrics in connection.execute(_RESULTS):
        run = by_id[run_id]
        values = () if metrics is None else _metrics(metrics, kinds)
        item = Seen(run.commit, run.time, outcomes[outcome], _truth(good), int(reruns), int(microseconds), values)
        found.setdefault((tests[test], run.device), []).append(item)
    return found


def _want_runs(connection: sqlite3.Connection, runs: Iterable[_Run]) -> None:
    _fill(connection, "wanted_run", "place INTEGER PRIMARY KEY, run INTEGER UNIQUE", [(None, run.id) for run in runs])


def _fill(connection: sqlite3.Connection, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
    connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
    connection.execute(f"CREATE TEMP TABLE {table} ({columns})")
    marks = ", ".join("?" for _ in columns.split(","))
    connection.executemany(f"INSERT INTO temp.{table} VALUES ({marks})", rows)  # noqa: S608 - names of this file


def _metrics(text: str, kinds: Mapping[str, MetricKind]) -> tuple[tuple[MetricKind, float], ...]:
    return tuple((kinds[number], float(value)) for number, value in json.loads(text).items())


def _truth(good: int | None) -> bool | None:
    return None if good is None else bool(good)


def _same(one: Seen, other: Seen) -> bool:
    """Whether a run that is reported now was added before."""
    return one._replace(time=0.0) == other._replace(time=0.0)
