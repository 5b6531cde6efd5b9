"""What a report tells of earlier runs: of which tests, and with this run as the newest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_gpumatrix.history import with_history as module
from pytest_gpumatrix.history.revision import Revision
from pytest_gpumatrix.history.store import open_history
from pytest_gpumatrix.history.with_history import with_history
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.verdict.verdict import Verdict
from tests.history.runs import DAY, add, commit, measured
from tests.verdict.runs import cell, expectation, plan, run, verdict

NOW = Revision(commit=commit(9), time=9 * DAY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def told(
    path: Path,
    head: Mapping[str, Mapping[str, str | Cell]],
    *,
    base: Mapping[str, Mapping[str, str | Cell]] | None = None,
    revision: Revision | None = NOW,
    expecting: tuple[str, ...] = (),
) -> Verdict:
    results = run(head)
    config = plan("h100", "rtx3090", expectations=tuple(expectation(test, "h100") for test in expecting))
    found = verdict(config, results, run(base) if base else None)
    with open_history(path, create=True) as store:
        return with_history(found, store, results, revision)


def test_a_failure_is_since_the_first_of_its_row_and_this_run_is_the_newest(path: Path) -> None:
    for day, outcome in ((1, "passed"), (2, "failed"), (3, "failed")):
        add(path, day, {"h100": {"t": outcome}})
    found = told(path, {"h100": {"t": "failed"}}).history["t"]["h100"]
    assert found.failing_since is not None
    assert found.failing_since.commit == commit(2)
    assert [item.commit for item in found.results] == [commit(day) for day in (1, 2, 3, 9)]


def test_a_new_failure_is_since_this_commit_and_of_no_commit_if_there_is_none(path: Path) -> None:
    add(path, 1, {"h100": {"t": "passed"}})
    head = {"h100": {"t": "failed"}}
    since = told(path, head).history["t"]["h100"].failing_since
    assert since is not None
    assert since.commit == commit(9)
    assert told(path, head, revision=None).history["t"]["h100"].failing_since is None


def test_what_another_machine_said_in_its_place_is_not_told_of_a_device(path: Path) -> None:
    add(path, 1, {"h100": {"t": "failed"}})
    found = told(path, {"h100": {"t": "failed"}, "h100:emulated": {"t": "passed"}, "rtx3090:compiled": {"t": "failed"}})
    assert set(found.history["t"]) == {"h100"}
    assert [item.outcome.value for item in found.history["t"]["h100"].results] == ["failed", "failed"]


def test_a_fixed_test_does_not_fail_since_anything(path: Path) -> None:
    add(path, 1, {"h100": {"t": "failed"}})
    found = told(path, {"h100": {"t": "passed"}}, base={"h100": {"t": "failed"}})
    assert found.history["t"]["h100"].failing_since is None


def test_a_run_that_was_added_before_it_is_reported_is_not_told_twice(path: Path) -> None:
    add(path, 9, {"h100": {"t": "failed"}})
    assert len(told(path, {"h100": {"t": "failed"}}).history["t"]["h100"].results) == 1


def test_the_verdict_is_otherwise_as_it_was(path: Path) -> None:
    add(path, 1, {"h100": {"t": "passed*"}})
    head = {"h100": {"t": "failed", "u": "passed"}}
    found, plain = told(path, head), verdict(plan("h100", "rtx3090"), run(head))
    assert (found.conclusion, found.exit_code, found.changes, found.notes) == (
        plain.conclusion,
        plain.exit_code,
        plain.changes,
        plain.notes,
    )


def test_of_which_tests(path: Path) -> None:
    steady = {"steady": "passed", "flaky": "passed", "expected": "failed", "changed": "passed"}
    add(path, 1, {"h100": {**steady, "flaky": "passed*", "gone": "passed*"}})
    add(path, 2, {"h100": steady})
    found = told(path, {"h100": {**steady, "changed": "failed"}}, expecting=("expected",))
    assert set(found.history) == {"flaky", "expected", "changed", "gone"}


def test_a_metric_that_moved_has_its_trend_with_this_run(path: Path) -> None:
    for day in (1, 2):
        add(path, day, {"h100": {"t": measured("t", 4.0)}})
    found = told(path, {"h100": {"t": measured("t", 9.0)}}, base={"h100": {"t": measured("t", 4.0)}})
    assert [row.test for row in found.metrics] == ["t"]
    assert [point.value for point in found.history["t"]["h100"].trends["loss"]] == [4.0, 4.0, 9.0]


def test_no_more_tests_than_one_reads_and_it_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TESTS", 2)
    found = told(path, {"h100": dict.fromkeys("abc", "failed")})
    assert set(found.history) == {"a", "b"}
    assert found.notes[-1] == "the history is told of the first 2 of 3 tests"


def test_without_an_earlier_run_there_is_this_one(path: Path) -> None:
    found = told(path, {"h100": {"t": cell("t", "failed")}}).history["t"]["h100"]
    assert len(found.results) == 1
