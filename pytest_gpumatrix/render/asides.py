"""What a report says of cells that are in no list of it, in words that the terminal and Markdown share."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_gpumatrix.record.outcome import Standing
from pytest_gpumatrix.verdict.headline import counted
from pytest_gpumatrix.verdict.verdict import Verdict

_WORDS = {
    Standing.BAD: "failed",
    Standing.GOOD: "passed only when rerun",
    Standing.NEUTRAL: "without a result",
    Standing.UNKNOWN: "not known",
}


def asides(verdict: Verdict) -> Iterator[str]:
    """How many cells gpumatrix.yml excuses, by what came of them; and what has no native result."""
    if verdict.expected:
        found = [row.cell.standing for row in verdict.expected]
        parts = [f"{found.count(standing):,} {words}" for standing, words in _WORDS.items() if standing in found]
        yield f"excused by gpumatrix.yml: {counted(len(found), 'cell')} ({', '.join(parts)})"
    if verdict.never_run_natively:
        every = counted(len(verdict.matrix.cells), "test")
        yield f"{verdict.never_run_natively:,} of {every} not known to have run natively on any device"
