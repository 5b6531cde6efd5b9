"""Tests that were moved or renamed between base and head: which of the lost ones is which of the new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from pytest_gpumatrix.record.outcome import Outcome
from pytest_gpumatrix.verdict.matrix import Matrix, Resolved
from pytest_gpumatrix.verdict.series import shortened

_MOST_MOVES = 3  # that a note spells out


def renames(base: Matrix, head: Matrix, reported: Collection[str]) -> dict[str, str]:
    """New test of head -> the lost one of the base that it was, where at least one device had both.

    ``reported``: the devices of which both runs have all results. A test that is lost or new for want of results, or
    that ran on other devices than the one that it resembles, has nothing to be held against.
    """
    found = match_renames(base.cells.keys() - head.cells.keys(), head.cells.keys() - base.cells.keys())
    return {test: before for test, before in found.items() if _share(base.cells[before], head.cells[test], reported)}


def match_renames(lost: Iterable[str], new: Iterable[str]) -> dict[str, str]:
    """New test -> the lost one that it was, by node id.

    Two are the same if they have the same function name and the same parameters, in another file or class, and no
    other lost or new test has them: of two candidates none is taken. A function that bears another name, or other
    parameters, is another test. An id without "::" has no place that it could have been moved from.
    """
    before = _unique(lost)
    return {test: before[key] for key, test in _unique(new).items() if key in before}


def as_renamed(base: Matrix, renamed: Mapping[str, str]) -> Matrix:
    """A base matrix with its tests under the names that head gives them."""
    now = {before: test for test, before in renamed.items()}
    return replace(base, cells={now.get(test, test): row for test, row in base.cells.items()}) if now else base


def moved(renamed: Mapping[str, str]) -> Iterator[str]:
    """Sentences on what was moved: "12 tests were moved: a.py -> b.py"; the largest moves first, a few of them."""
    moves = Counter((_place(before), _place(test)) for test, before in renamed.items())
    ordered = sorted(moves.items(), key=lambda item: (-item[1], item[0]))
    for (before, after), count in ordered[:_MOST_MOVES]:
        yield f"{_tests(count)} moved: {shortened(before)} -> {shortened(after)}"
    if rest := sum(count for _, count in ordered[_MOST_MOVES:]):
        yield f"{_tests(rest)} moved between {len(ordered) - _MOST_MOVES:,} other places"


def _share(before: Mapping[str, Resolved], now: Mapping[str, Resolved], reported: Collection[str]) -> bool:
    """Whether a device ran both."""
    both = (name for name in before if name in now and name in reported)
    return any(Outcome.NOT_RUN not in (before[name].cell.outcome, now[name].cell.outcome) for name in both)


def _unique(tests: Iterable[str]) -> dict[str, str]:
    """By function name and parameters the one test that has them."""
    found: dict[str, str | None] = {}
    for test in tests:
        if key := _body(test):
            found[key] = None if key in found else test
    return {key: test for key, test in found.items() if test is not None}


def _split(test: str) -> tuple[str, str]:
    """The file with the classes, and the function with its parameters, which may hold "::" and "[" themselves."""
    file, separator, inner = test.partition("::")
    if not separator:
        return "", ""
    before, bracket, parameters = inner.partition("[")
    classes, _, name = before.rpartition("::")
    return (f"{file}::{classes}" if classes else file), (name + bracket + parameters if name else "")


def _body(test: str) -> str:
    return _split(test)[1]


def _place(test: str) -> str:
    return _split(test)[0]


def _tests(count: int) -> str:
    return "1 test was" if count == 1 else f"{count:,} tests were"
