"""Which commit a run is of: a history without it would be of no use, and with the wrong one of less."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_gpumatrix.record.results import Results

_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # SHA-1 or SHA-256


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """A commit, and when it was made."""

    commit: str  # full hash
    time: float  # seconds since the epoch


def revision_of(
    results: Results, *, commit: str | None, time_of: Callable[[str], float | None], now: float
) -> Revision | str:
    """The commit of a run, or why there is none that its results could be kept under.

    ``commit`` is what the user says of results that say nothing; ``time_of`` tells when a commit was made, None where
    it does not know: then it is as old as the moment ``now`` at which it was first heard of. Of a commit from the
    future (the author's clock says when it was made) the same is true, or it would be the newest for ever.
    """
    facts = [column.facts for column in results.columns]
    said = next((fact.commit for fact in facts if fact.commit), None)
    if said and commit and said != commit:
        return f"its results say that they are of commit {said[:12]}, not of {commit[:12]}"
    found = said or commit
    if not found:
        return "its results do not say which commit they are of; `gpumatrix history add RESULTS --commit HASH` can"
    if not is_full_hash(found):
        return f"{found[:64]!r} is not the full hash of a commit; `git rev-parse HEAD` prints one"
    if any(fact.dirty for fact in facts):
        return f"it ran with uncommitted changes on {found[:12]}"
    if said and any(fact.commit and fact.dirty is None for fact in facts):
        return f"whether there were uncommitted changes on {found[:12]} is not known"
    made = time_of(found)
    return Revision(commit=found, time=now if made is None else min(made, now))


def is_full_hash(text: str) -> bool:
    """Whether it is the unabbreviated name of a commit."""
    return _HASH.fullmatch(text) is not None


def commit_time(commit: str, folder: Path) -> float | None:
    """When a commit was made, in seconds since the epoch; None where git does not have it.

    ``commit`` must be a full hash: it becomes a word of a command.
    """
    try:
        answer = subprocess.run(  # noqa: S603 - a fixed command
            ["git", "-C", str(folder), "rev-list", "--max-count=1", "--timestamp", commit],  # noqa: S607 - as everywhere
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return float(answer.stdout.split()[0])
