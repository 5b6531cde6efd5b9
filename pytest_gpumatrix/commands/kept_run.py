"""A run and the history file that keeps it, for ``gpumatrix history add`` and ``gpumatrix report --history``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_gpumatrix.history.revision import Revision
    from pytest_gpumatrix.history.store import HistoryStore
    from pytest_gpumatrix.record.results import Results


def branch_argument(parser: argparse.ArgumentParser, name: str = "--branch") -> None:
    """``--branch``, or another name for it."""
    parser.add_argument(name, metavar="NAME", help="the branch that the run is of; what is shown is of its runs alone")


def revision_here(results: Results, commit: str | None = None) -> Revision | str:
    """The commit of a run, or why it cannot be kept. Its time is git's, if the repository here has the commit."""
    from pytest_gpumatrix.history.revision import commit_time, revision_of

    here = Path.cwd()
    return revision_of(results, commit=commit, time_of=lambda found: commit_time(found, here), now=time.time())


def keep(store: HistoryStore, results: Results, revision: Revision, branch: str | None) -> str:
    """Add a run; what became of it, in words."""
    from pytest_gpumatrix.history.add import add_run

    added = add_run(store, results.columns, revision, branch=branch or "")
    parts = []
    if added.columns:
        noun = "result" if added.results == 1 else "results"
        parts.append(f"added {added.results:,} {noun} of {revision.commit[:12]} ({', '.join(added.columns)})")
    if added.known:
        parts.append(f"has {', '.join(added.known)} of {revision.commit[:12]} already")
    return f"{store.path}: {'; '.join(parts) or 'nothing to add'}"
