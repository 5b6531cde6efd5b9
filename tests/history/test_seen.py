"""What the results of a cell amount to: since when it fails, how flaky it is, its trends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.history.observation import MetricKind
from pytest_gpumatrix.history.seen import Seen, failing_since, flakes, history_of, is_settled, trends
from pytest_gpumatrix.record.outcome import Outcome

LOSS = MetricKind(name="loss", unit="nats", better="lower")
_LETTERS = {
    "p": (Outcome.PASSED, True, 0),
    "r": (Outcome.PASSED, True, 2),
    "f": (Outcome.FAILED, False, 0),
    "c": (Outcome.CRASHED, False, 0),
    "s": (Outcome.SKIPPED, None, 0),
    "u": (Outcome.UNKNOWN, None, 0),
}


def seen(text: str) -> list[Seen]:
    """ "p1 f2 f2": letter and commit."""
    found = []
    for part in text.split():
        outcome, good, reruns = _LETTERS[part[0]]
        commit = part[1:].replace("-", "")
        found.append(Seen(commit, 0.0, outcome, good, reruns, 1_000_000, ()))
    return found


@pytest.mark.parametrize(
    ("results", "commit"),
    [
        ("", None),
        ("p1", None),
        ("f1", "1"),
        ("p1 f2 f3", "2"),
        ("f1 p2 f3", "3"),
        ("f1 p2", None),
        ("f1 f2 p2", None),  # the same commit, run again
        ("p1 p2 f2", "2"),
        ("f1 u2 f3", "1"),  # what is not known does not break the row
        ("f1 s2 f3", "1"),
        ("f1 u2", "1"),
        ("f1 s2", None),  # skipped now: it does not fail
        ("p1 c2 f3", "2"),
        ("u1 u2", None),
        ("r1 f2", "2"),
    ],
)
def test_failing_since(results: str, commit: str | None) -> None:
    since = failing_since(seen(results))
    assert (since.commit if since else None) == commit


@pytest.mark.parametrize(
    ("results", "count"),
    [
        ("", 0),
        ("p1 p2", 0),
        ("p1 r2", 1),
        ("r1 r1", 2),
        ("p1 f1", 1),
        ("p1 f2", 0),
        ("r1 f1", 1),  # one and the same flake
        ("f1 f1 p1 p2", 1),
        ("s1 p1 u1", 0),
        ("p- f-", 0),  # no commit is known: nothing says that the code was the same
    ],
)
def test_flakes(results: str, count: int) -> None:
    assert flakes(seen(results)) == count


@given(st.text("prfcsu", max_size=12), st.lists(st.sampled_from("1234"), min_size=12, max_size=12))
def test_older_results_never_change_what_is_settled(letters: str, commits: list[str]) -> None:
    results = seen(" ".join(letter + number for letter, number in zip(letters, sorted(commits), strict=False)))
    assert 0 <= history_of(results).flake_rate <= 1
    for cut in range(len(results) + 1):
        newer = results[cut:]
        if is_settled(newer) and newer:
            assert failing_since(newer) == failing_since(results)
        assert history_of(newer, older=results[:cut]).failing_since == history_of(results).failing_since


def test_a_failure_of_no_known_commit_is_since_none() -> None:
    assert history_of(seen("p1 f-")).failing_since is None
    since = history_of(seen("p1 f2 f-")).failing_since
    assert since is not None
    assert since.commit == "2"


def measured(commit: str, value: float, kind: MetricKind = LOSS) -> Seen:
    return Seen(commit, 0.0, Outcome.PASSED, True, 0, 500_000, ((kind, value),))


def test_a_trend_has_a_point_per_commit_the_median_of_its_runs() -> None:
    found = trends([measured("1", 4.0), measured("1", 5.0), measured("2", 6.0)])
    assert [(point.commit, point.value) for point in found["loss"]] == [("1", 4.5), ("2", 6.0)]


def test_durations_are_a_trend_of_passes_in_seconds() -> None:
    found = trends([*seen("f1 p2"), measured("3", 1.0)])
    assert [(point.commit, point.value) for point in found["duration"]] == [("2", 1.0), ("3", 0.5)]


def test_a_metric_named_duration_is_that_metric() -> None:
    own = MetricKind(name="duration", unit="ms", better="lower")
    assert [point.value for point in trends([measured("1", 7.0, own)])["duration"]] == [7.0]


def test_values_of_two_units_are_no_trend() -> None:
    bits = MetricKind(name="loss", unit="bits", better="lower")
    found = trends([measured("1", 4.0), measured("2", 5.8, bits)])
    assert [(point.commit, point.value) for point in found["loss"]] == [("2", 5.8)]
