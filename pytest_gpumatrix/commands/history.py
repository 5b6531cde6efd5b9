"""``gpumatrix history``: what earlier runs said."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_gpumatrix.commands.command import Command, output_argument
from pytest_gpumatrix.commands.kept_run import branch_argument, keep, revision_here
from pytest_gpumatrix.commands.output import progress_line, put, say, terminal_style
from pytest_gpumatrix.errors import GpuMatrixError

if TYPE_CHECKING:
    from pytest_gpumatrix.history.read import Cells
    from pytest_gpumatrix.history.store import HistoryStore

_MOST = 200  # tests that are shown at once
_HELP = """\
Keep what each run found, by test, device and commit, in one SQLite file: since when a test fails, how often it is
flaky, how its metrics go. `gpumatrix report --history FILE` reads the file, shows what it says, and adds its run.

examples:
  gpumatrix history add results --store history.sqlite
  gpumatrix history add plain-junit --store history.sqlite --commit "$(git rev-parse HEAD)" --branch main
  gpumatrix history show --store history.sqlite
  gpumatrix history show 'tests/test_attention.py::*' --store history.sqlite --device h100 --metric loss
  gpumatrix history prune --store history.sqlite --keep-days 180 --keep-commits 500

exit codes: 0 done, 2 a mistake in what was given, or a file that could not be added
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(required=True, metavar="add|show|prune", dest="what")
    add = kinds.add_parser("add", help="add a run; one that is there already stays as it is")
    add.add_argument("results", type=Path, metavar="RESULTS", help="folder with the results of a run")
    add.add_argument("--commit", metavar="HASH", help="the full hash, for results that do not say which they are of")
    branch_argument(add)
    show = kinds.add_parser("show", help="show tests, or else what fails now and what is flaky")
    show.add_argument("test", nargs="?", metavar="TEST", help="a node id; * stands for any text, ? for one character")
    show.add_argument("--device", help="on this device alone")
    show.add_argument("--metric", help="the trend of this metric alone")
    show.add_argument("--format", choices=("terminal", "json"), default="terminal")
    branch_argument(show)
    output_argument(show)
    prune = kinds.add_parser("prune", help="remove old commits; one that either limit keeps is kept")
    prune.add_argument("--keep-days", type=_whole, metavar="N", help="keep the commits of the last N days")
    prune.add_argument("--keep-commits", type=_whole, metavar="N", help="keep the newest N commits")
    for part in (add, show, prune):
        part.add_argument("--store", type=Path, required=True, metavar="FILE", help="the history file")


def _whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 6 or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 999999")
    return int(text)


def _run(given: argparse.Namespace) -> int:
    return {"add": _add, "show": _show, "prune": _prune}[given.what](given)


def _add(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.history.store import open_history
    from pytest_gpumatrix.record.results import read_results

    with progress_line("columns are read") as progress:
        results = read_results(given.results, progress=progress)
    revision = revision_here(results, given.commit)
    if isinstance(revision, str):
        raise GpuMatrixError(f"{given.results}: not added to {given.store}: {revision}")
    with open_history(given.store, create=True) as store:
        say(keep(store, results, revision, given.branch))
    left_out = {**results.broken, **results.refused}
    for name, reason in left_out.items():
        say(f"{name}: not added: {reason}")
    return 2 if left_out else 0


def _show(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.history.store import open_history
    from pytest_gpumatrix.render.history_json import render_history_json
    from pytest_gpumatrix.render.history_text import render_history

    with open_history(given.store) as store:
        cells = _cells(store, given)
    if given.format == "json":
        put(render_history_json(cells, metric=given.metric), given.output)
    else:
        put(render_history(cells, metric=given.metric, **terminal_style(given.output)), given.output)
    return 0


def _cells(store: HistoryStore, given: argparse.Namespace) -> Cells:
    from pytest_gpumatrix.history import read

    if given.test is None:
        failing = read.failing_tests(store, _MOST, branch=given.branch)
        tests = tuple(dict.fromkeys([*failing, *read.flaky_tests(store, _MOST, branch=given.branch)]))
    else:
        tests = _matching(read.known_tests(store), given.test, store.path)
    if len(tests) > _MOST:
        say(f"{_MOST} of {len(tests):,} tests are shown; name fewer: gpumatrix history show 'tests/test_a.py::*'")
    cells = read.cell_histories(store, tests[:_MOST], branch=given.branch)
    devices = {device for row in cells.values() for device in row}
    if given.device is not None and cells and given.device not in devices:
        raise GpuMatrixError(f"--device {given.device}: no results of it here; there are those of {_listed(devices)}")
    chosen = {
        test: {name: item for name, item in sorted(row.items()) if given.device in (None, name)}
        for test in tests
        if (row := cells.get(test))
    }
    return {test: row for test, row in chosen.items() if row}


def _matching(known: Sequence[str], pattern: str, path: Path) -> tuple[str, ...]:
    from pytest_gpumatrix.config.pattern import TestPattern

    if pattern in known:
        return (pattern,)
    wanted = TestPattern(text=pattern)
    found = tuple(test for test in known if wanted.matches(test))
    if not found:
        raise GpuMatrixError(f"{path}: no test {pattern!r}; write a node id, * stands for any text: '*test_name*'")
    return found


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _prune(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.history.prune import prune
    from pytest_gpumatrix.history.store import open_history

    if given.keep_days is None and given.keep_commits is None:
        raise GpuMatrixError("say what to keep: --keep-days N, --keep-commits N or both")
    with open_history(given.store) as store:
        pruned = prune(store, days=given.keep_days, commits=given.keep_commits, now=time.time())
    say(f"{given.store}: removed {pruned.commits:,} commits, kept {pruned.kept:,}")
    return 0


COMMAND = Command(
    name="history",
    summary="keep what runs found, and show since when a test fails",
    help=_HELP,
    arguments=_arguments,
    run=_run,
)
