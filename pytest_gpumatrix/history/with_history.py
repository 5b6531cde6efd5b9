"""A verdict, and what earlier runs said of the tests that it speaks of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_gpumatrix.history.observation import observed
from pytest_gpumatrix.history.read import cell_histories, flaky_tests
from pytest_gpumatrix.history.revision import Revision
from pytest_gpumatrix.history.seen import Seen
from pytest_gpumatrix.history.store import HistoryStore
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.record.results import Results
from pytest_gpumatrix.verdict.verdict import Verdict

MOST_TESTS = 200  # of a verdict; nobody would read more, and a large file would take seconds
_MOST_FLAKY = 20  # further tests, that are known as flaky


def with_history(
    verdict: Verdict, store: HistoryStore, results: Results, revision: Revision | None, *, branch: str | None = None
) -> Verdict:
    """The verdict with the histories of what changed, fails or was measured, and of tests that are known as flaky.

    ``results`` are those that it judges, the newest of each history; ``revision`` their commit, if it is known.
    """
    spoken_of = dict.fromkeys(_spoken_of(verdict))
    wanted = list(spoken_of)[:MOST_TESTS]
    flaky = [test for test in flaky_tests(store, _MOST_FLAKY, branch=branch) if test not in spoken_of]
    present = _present(results.columns, [*wanted, *flaky], revision)
    found = {
        test: devices
        for test, devices in cell_histories(store, [*wanted, *flaky], branch=branch, present=present).items()
        if test in spoken_of or any(history.flakes for history in devices.values())
    }
    notes = verdict.notes
    if len(spoken_of) > MOST_TESTS:
        notes = (*notes, f"the history is told of the first {MOST_TESTS:,} of {len(spoken_of):,} tests")
    return replace(verdict, history=found, notes=notes)


def _spoken_of(verdict: Verdict) -> Iterable[str]:
    """The most important first: changes come in that order."""
    yield from (row.test for row in verdict.changes)
    yield from (row.test for row in verdict.metrics)
    yield from (row.test for row in verdict.drift)
    yield from (row.test for row in verdict.expected)


def _present(columns: Iterable[Column], tests: Iterable[str], revision: Revision | None) -> dict[tuple[str, str], Seen]:
    commit, time = (revision.commit, revision.time) if revision else ("", 0.0)
    found: dict[tuple[str, str], Seen] = {}
    for column in columns:
        if column.evidence is not Evidence.NATIVE:
            continue
        for test in tests:
            cell = column.cells.get(test)
            item = observed(cell, column) if cell else None
            if item is not None:
                found[test, column.device] = Seen(
                    commit, time, item.outcome, item.good, item.reruns, item.microseconds, item.metrics
                )
    return found
