"""What is added is what is read, however hostile; and no more of it than the question asks for."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.history import seen
from pytest_gpumatrix.history.read import failing_tests, flaky_tests, known_tests
from pytest_gpumatrix.history.store import open_history
from pytest_gpumatrix.record.cell import Metric
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.triage.cause import Category
from tests.history.runs import DAY, add, add_outcomes, commit, histories, measured
from tests.verdict.runs import cell


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def test_a_cell_over_its_commits(path: Path) -> None:
    add_outcomes(path, "prffsf")
    found = histories(path, "t")["t"]["h100"]
    assert [item.outcome.value for item in found.results] == [
        "passed", "passed", "failed", "failed", "skipped", "failed",
    ]  # fmt: skip
    assert [item.commit for item in found.results] == [commit(day) for day in range(1, 7)]
    assert found.results[1].reruns == 1
    assert found.failing_since is not None
    assert (found.failing_since.commit, found.failing_since.time) == (commit(3), 3 * DAY)
    assert (found.flakes, found.flake_rate) == (1, 1 / 6)


def test_the_same_run_twice_is_once(path: Path) -> None:
    cells = {
        "h100": {"t": cell("t", "failed", duration=0.25)},
        "rtx3090": {"t": cell("t", "passed")},
    }
    first = add(path, 1, cells)
    assert (first.results, first.columns, first.known) == (2, ("h100 native", "rtx3090 native"), ())
    content = path.read_bytes()
    second = add(path, 1, cells)
    assert (second.results, second.columns, second.known) == (0, (), first.columns)
    assert path.read_bytes() == content


def test_runs_that_differ_in_one_value_alone_are_two(path: Path) -> None:
    one = cell("t", "passed", duration=1.0)
    others = [measured("t", 1.0), measured("t", 1.5), measured("t", 1.5, unit="bits"), measured("t", 1.5, name="m")]
    for item in (one, dataclasses.replace(one, reruns=1), dataclasses.replace(one, duration=2.0), *others):
        assert add(path, 1, {"h100": {"t": item}}).results == 1


def test_the_same_commit_again_is_another_run_of_it(path: Path) -> None:
    add(path, 1, {"h100": {"t": cell("t", "failed", duration=1.0)}})
    add(path, 2, {"h100": {"t": "passed"}})
    add(path, 1, {"h100": {"t": cell("t", "passed", duration=2.0)}}, time=9 * DAY)  # when it was run again
    found = histories(path, "t")["t"]["h100"]
    assert [item.commit for item in found.results] == [commit(1), commit(1), commit(2)]
    assert found.flakes == 1  # good and bad for one commit


def test_commits_are_in_the_order_of_their_time_and_not_of_adding(path: Path) -> None:
    add(path, 2, {"h100": {"t": "failed"}})
    add(path, 1, {"h100": {"t": "passed"}})
    since = histories(path, "t")["t"]["h100"].failing_since
    assert since is not None
    assert since.commit == commit(2)


def test_only_native_results_count(path: Path) -> None:
    add(path, 1, {"h100": {"t": "failed"}, "rtx3090:emulated": {"t": "failed"}, "l40s:compiled": {"t": "failed"}})
    assert set(histories(path, "t")["t"]) == {"h100"}


def test_a_result_that_is_known_less_well_than_its_column_says_nothing(path: Path) -> None:
    weaker = dataclasses.replace(cell("t", "failed"), evidence=Evidence.COMPILED)
    add(path, 1, {"h100": {"t": weaker}})
    assert histories(path, "t")["t"]["h100"].failing_since is None


def test_a_failure_of_the_machine_is_unknown(path: Path) -> None:
    add(path, 1, {"h100": {"t": cell("t", "failed", cause=Category.DEVICE_STATE)}})
    add(path, 2, {"h100": {"t": cell("t", "failed", cause=Category.ARCH_GATE)}})
    found = histories(path, "t")["t"]["h100"]
    assert [item.outcome for item in found.results] == [Outcome.UNKNOWN, Outcome.FAILED]
    assert found.failing_since == found.results[1]


def test_what_did_not_run_is_not_kept(path: Path) -> None:
    assert add(path, 1, {"h100": {"t": "not-run", "u": "skipped"}}).results == 1


def test_a_strict_unexpected_pass_is_bad(path: Path) -> None:
    add(path, 1, {"h100": {"strict": "xpassed!", "lax": "xpassed"}})
    found = histories(path, "strict", "lax")
    assert found["strict"]["h100"].failing_since is not None
    assert found["lax"]["h100"].failing_since is None


def test_a_branch_of_its_own(path: Path) -> None:
    add(path, 1, {"h100": {"t": "passed"}}, branch="main")
    add(path, 2, {"h100": {"t": "failed"}}, branch="try")
    assert histories(path, "t", branch="main")["t"]["h100"].failing_since is None
    assert histories(path, "t", branch="try")["t"]["h100"].failing_since is not None
    assert len(histories(path, "t")["t"]["h100"].results) == 2
    assert histories(path, "t", branch="none") == {}


def test_repeats_are_kept_as_their_median(path: Path) -> None:
    metrics = tuple(Metric(name="loss", value=value, unit="nats") for value in (4.0, 9.0, 5.0, math.nan, math.inf))
    add(path, 1, {"h100": {"t": cell("t", "passed", metrics=metrics, duration=0.125)}})
    add(path, 2, {"h100": {"t": measured("t", 6.0)}})
    trends = histories(path, "t")["t"]["h100"].trends
    assert [(point.commit, point.value) for point in trends["loss"]] == [(commit(1), 5.0), (commit(2), 6.0)]
    assert [point.value for point in trends["duration"]] == [0.125, 1.0]


def test_the_newest_commits_of_each_device_and_since_beyond_them(path: Path) -> None:
    add(path, 1, {"h100": {"t": "passed"}, "rtx3090": {"t": "failed"}})
    for day in range(2, seen.NEWEST + 12):
        add(path, day, {"h100": {"t": "failed", "other": "passed"}})
    found = histories(path, "t", "other")
    assert {device: len(history.results) for device, history in found["t"].items()} == {
        "h100": seen.NEWEST,
        "rtx3090": 1,
    }
    assert [history.failing_since and history.failing_since.commit for history in found["t"].values()] == [
        commit(2),
        commit(1),
    ]


def test_what_fails_and_what_is_flaky(path: Path) -> None:
    good = {"steady": "passed", "old": "passed", "new": "passed", "rerun": "passed", "both": "passed"}
    add(path, 1, {"h100": {**good, "old": "failed"}})
    add(path, 2, {"h100": {**good, "both": "failed", "rerun": "passed*"}})
    add(path, 2, {"h100": {"both": cell("both", "passed", duration=3.0)}})
    add(path, 3, {"h100": {**good, "new": "failed"}, "rtx3090": {**good, "new": "failed", "old": "failed"}})
    with open_history(path) as store:
        assert failing_tests(store, 9) == ("new", "old")
        assert failing_tests(store, 1) == ("new",)
        assert set(flaky_tests(store, 9)) == {"rerun", "both"}
        assert len(flaky_tests(store, 1)) == 1
        assert flaky_tests(store, 9, branch="none") == ()


HOSTILE = [
    "'; DROP TABLE result; --",
    'a"b[`x`]%_?',
    "nul\0inside",
    "nul\0other",
    "lone \ud800 surrogate",
    "lone \udfff surrogate",
    "\\ud800",
    "line\r\nbreak",
    "\u202ertl",
    "x" * 10_000,
    "é",
    "e\u0301",
    "",
]


def test_any_name_comes_back_as_it_was(path: Path) -> None:
    metrics = tuple(Metric(name=name, value=float(place), unit=name) for place, name in enumerate(HOSTILE))
    add(path, 1, {"h100": {name: cell(name, "failed", metrics=metrics) for name in HOSTILE}}, branch=HOSTILE[4])
    found = histories(path, *HOSTILE, branch=HOSTILE[4])
    assert list(found) == HOSTILE
    for name in HOSTILE:
        trends = found[name]["h100"].trends
        assert {text: points[0].value for text, points in trends.items() if text != "duration"} == {
            text: float(place) for place, text in enumerate(HOSTILE)
        }
    with open_history(path) as store:
        assert set(known_tests(store)) == set(HOSTILE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(names=st.lists(st.text(st.characters(exclude_categories=[])), unique=True, max_size=6))
def test_any_names_at_all(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    path = tmp_path_factory.mktemp("any") / "history.sqlite"
    add(path, 1, {"h100": dict.fromkeys(names, "failed"), "rtx3090": {"t": "passed"}})
    assert set(histories(path, *names)) - {"t"} == set(names) - {"t"}


@pytest.mark.parametrize(
    ("reruns", "duration"), [(10**40, 1e300), (-5, -1.0), (2**31, 2**31 / 1e6)], ids=["huge", "negative", "edge"]
)
def test_numbers_that_no_run_has_are_bounded(path: Path, reruns: int, duration: float) -> None:
    add(path, 1, {"h100": {"t": cell("t", "passed", reruns=reruns, duration=duration)}})
    found = histories(path, "t")["t"]["h100"]
    assert 0 <= found.results[0].reruns < 2**31
    assert 0 <= found.trends["duration"][0].value < 2**31
