"""Moved tests: matched if exactly one fits, else lost and new."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.renames import match_renames, moved
from tests.verdict.runs import changes, plan, row, run, verdict

CONFIG = plan("h100")
LONG = "x" * 10_000


@pytest.mark.parametrize(
    ("lost", "new", "matched"),
    [
        ("a.py::t", "b.py::t", True),
        ("a.py::t", "sub/a.py::t", True),
        ("a.py::T::t", "a.py::U::t", True),
        ("a.py::T::t", "b.py::t", True),
        ("a.py::t[1-fp16]", "b.py::t[1-fp16]", True),
        ("a.py::t[1]", "a.py::T::t[1]", True),
        ("a.py::t[x::y[z]]", "b.py::T::t[x::y[z]]", True),
        ("a.py::t[a\nb\u202e\U0001f600]", "b.py::t[a\nb\u202e\U0001f600]", True),
        (f"a.py::t[{LONG}]", f"{LONG}.py::t[{LONG}]", True),
        ("a.py::t[1]", "b.py::t[2]", False),
        ("a.py::t", "b.py::t[1]", False),
        ("a.py::t", "b.py::u", False),
        ("a.py::t[x::u]", "b.py::u]", False),  # the "::" stands in the parameters
        ("suite.t", "other.t", False),  # no file to have moved from
        ("t", "a.py::t", False),
        ("a.py::", "b.py::", False),
        ("a.py::[1]", "b.py::[1]", False),  # no function
    ],
)
def test_which_two_are_one(lost: str, new: str, matched: bool) -> None:
    assert match_renames([lost, "z.py::other"], ["y.py::another", new]) == ({new: lost} if matched else {})


@pytest.mark.parametrize(
    ("lost", "new"),
    [(["a.py::t", "b.py::t"], ["c.py::t"]), (["a.py::t"], ["b.py::t", "c.py::t"]), (["a.py::t"], [])],
)
def test_of_several_candidates_none_is_taken(lost: list[str], new: list[str]) -> None:
    assert match_renames(lost, new) == {}


ids = st.text("ab:[]./\n\u202e", max_size=14) | st.sampled_from(["a.py::t", "b.py::t", "b.py::t[1]", "c.py::T::t[1]"])


@settings(max_examples=200, deadline=None)
@given(st.sets(ids, max_size=8), st.sets(ids, max_size=8), st.randoms(use_true_random=False))
def test_each_side_is_taken_once_and_order_never_matters(lost, new, chance) -> None:  # type: ignore[no-untyped-def]
    lost, new = sorted(lost - new), sorted(new - lost)
    found = match_renames(lost, new)
    assert found.keys() <= set(new)
    assert set(found.values()) <= set(lost)
    assert len(set(found.values())) == len(found)
    assert match_renames(new, lost) == {before: test for test, before in found.items()}
    chance.shuffle(lost)
    chance.shuffle(new)
    assert match_renames(lost, new) == found


def test_a_move_without_a_change_is_a_note_and_no_row() -> None:
    base = run({"h100": {"a.py::t[1]": "passed", "a.py::t[2]": "failed", "a.py::u": "passed", "o": "passed"}})
    head = run({"h100": {"b.py::t[1]": "passed", "b.py::t[2]": "failed", "c.py::u": "passed", "o": "passed"}})
    found = verdict(CONFIG, head, base)
    assert changes(found) == {("b.py::t[2]", "h100", "still-failing")}
    assert found.notes == ("2 tests were moved: a.py -> b.py", "1 test was moved: a.py -> c.py")
    assert headline(found).startswith("ok: 4 tests on h100")


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("passed", "failed", Change.NEW_FAILURE),
        ("failed", "failed", Change.STILL_FAILING),
        ("failed", "passed", Change.FIXED),
        ("passed", "skipped", Change.COVERAGE_LOST),
    ],
)
def test_a_moved_test_is_held_against_what_it_was(before: str, after: str, change: Change) -> None:
    found = verdict(CONFIG, run({"h100": {"b.py::t": after, "o": "passed"}}), run({"h100": {"a.py::t": before}}))
    assert {(r.test, r.change) for r in found.changes} == {("b.py::t", change)}
    assert row(found, change, "b.py::t").renamed_from == "a.py::t"


def test_without_one_candidate_it_is_lost_and_new() -> None:
    base = run({"h100": {"a.py::t": "passed", "b.py::t": "passed", "o": "passed"}})
    found = verdict(CONFIG, run({"h100": {"c.py::t": "failed", "o": "passed"}}), base)
    assert changes(found) == {
        ("c.py::t", "h100", "new-test-failing"),
        ("a.py::t", "h100", "removed"),
        ("b.py::t", "h100", "removed"),
    }


def test_a_test_of_a_missing_device_is_not_lost_and_so_not_moved() -> None:
    base = run({"h100": {"a.py::t": "failed"}, "l40s": {"o": "passed"}})
    found = verdict(plan("h100", "l40s"), run({"l40s": {"b.py::t": "failed", "o": "passed"}}), base)
    assert changes(found) == {("b.py::t", "l40s", "new-test-failing")}


def test_a_test_of_a_device_that_the_base_lacks_is_not_new_and_so_not_moved() -> None:
    base = run({"h100": {"a.py::t": "failed"}})
    head = run({"h100": {"o": "passed"}, "l40s": {"b.py::t": "failed"}})
    found = verdict(plan("h100", "l40s"), head, base)
    assert ("b.py::t", "l40s", "new-test-failing") in changes(found)


@pytest.mark.parametrize("elsewhere", [{}, {"a.py::t": "not-run"}])
def test_tests_that_no_device_has_both_of_are_lost_and_new(elsewhere: dict[str, str]) -> None:
    base = run({"h100": {"a.py::t": "passed", "o": "passed"}, "l40s": {"o": "passed", **elsewhere}})
    head = run({"h100": {"o": "passed"}, "l40s": {"b.py::t": "failed", "o": "passed"}})
    found = verdict(plan("h100", "l40s"), head, base)
    assert changes(found) == {("b.py::t", "l40s", "new-test-failing"), ("a.py::t", "h100", "removed")}
    assert found.exit_code == 1


@pytest.mark.parametrize("cut_off", ["head", "base"])
def test_a_device_of_which_a_file_was_not_read_tells_of_no_move(cut_off: str) -> None:
    base = run({"h100": {"a.py::t": "failed"}}, {"h100": "cut off"} if cut_off == "base" else None)
    head = run({"h100": {"b.py::t": "failed"}}, {"h100": "cut off"} if cut_off == "head" else None)
    found = verdict(CONFIG, head, base)
    assert ("b.py::t", "h100", "new-test-failing") in changes(found)
    assert found.exit_code == 1


def test_many_moves_are_counted_and_long_places_are_cut() -> None:
    renamed = {f"n{n}.py::t{i}": f"o{n}.py::t{i}" for n in range(6) for i in range(n + 1)}
    assert list(moved(renamed)) == [
        "6 tests were moved: o5.py -> n5.py",
        "5 tests were moved: o4.py -> n4.py",
        "4 tests were moved: o3.py -> n3.py",
        "6 tests were moved between 3 other places",
    ]
    (long,) = moved({f"{LONG}.py::t": "a.py::t"})
    assert len(long) < 300
