"""Which commits are kept, and that what goes leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.history.prune import outdated, prune
from pytest_gpumatrix.history.read import known_tests
from pytest_gpumatrix.history.store import open_history
from tests.history.runs import DAY, add, commit, histories

NEWEST_FIRST = [(3, 10 * DAY), (2, 9 * DAY), (1, 1 * DAY)]


@pytest.mark.parametrize(
    ("days", "commits", "gone"),
    [
        (None, 2, [1]),
        (None, 5, []),
        (1, None, [2, 1]),
        (3, None, [1]),
        (100, None, []),
        (1, 2, [1]),  # what either limit keeps is kept
        (100, 1, []),
    ],
)
def test_what_neither_limit_keeps_goes(days: int | None, commits: int | None, gone: list[int]) -> None:
    assert outdated(NEWEST_FIRST, days=days, commits=commits, now=11 * DAY) == gone


def test_the_file_shrinks_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    old = {f"old{number}": "failed" for number in range(3000)}
    add(path, 1, {"h100": {**old, "t": "passed"}, "rtx3090": old})
    for day in (2, 3):
        add(path, day, {"h100": {"t": "failed"}})
    before = path.stat().st_size
    with open_history(path) as store:
        pruned = prune(store, days=None, commits=2, now=4 * DAY)
        assert (pruned.commits, pruned.kept) == (1, 2)
        assert known_tests(store) == ("t",)
    assert path.stat().st_size < before / 3
    assert [item.commit for item in histories(path, "t")["t"]["h100"].results] == [commit(2), commit(3)]
    assert add(path, 1, {"h100": {"t": "passed"}}).results == 1  # it is not known any more
