"""Which tests a bounded table shows, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Outcome, Standing
from pytest_gpumatrix.verdict.verdict import ChangeRow, DriftRow, MetricRow, Verdict

_SKIPS = (Outcome.SKIPPED, Outcome.SKIPPED_REQUIREMENT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """The tests worth a line, and how many are not."""

    tests: tuple[str, ...]
    more: int  # would be worth a line, but for the bound
    alike: int  # the same on every device, and unchanged
    elsewhere: int  # the same where there is a result, and unchanged; some device has none


def shown_tests(verdict: Verdict, most: int) -> Shown:
    """The tests worth a line in the order of ``ranks_of``, and how many there are besides."""
    ranks = ranks_of(verdict)
    ordered = sorted((test for test in ranks if test in verdict.matrix.cells), key=lambda t: (ranks[t], t))
    names = {item.device.name for item in verdict.devices}
    every = names - {CPU} or names
    same = [every <= row.keys() for test, row in verdict.matrix.cells.items() if test not in ranks]
    return Shown(
        tests=tuple(ordered[:most]),
        more=max(0, len(ordered) - most),
        alike=same.count(True),
        elsewhere=same.count(False),
    )


def ranks_of(verdict: Verdict) -> Mapping[str, int]:
    """Each test worth a line, 0 first.

    Red tests (0, 1), other changes (2), failures (3), tests that differ between devices (4, 5), and those that never
    run (6). A test that is alike everywhere, and unchanged, is not among them.
    """
    ranks = {row.test: 6 for row in verdict.never_run}
    differing: list[ChangeRow | MetricRow | DriftRow] = [*verdict.changes, *verdict.metrics, *verdict.drift]
    ranks |= {row.test: 2 for row in differing}
    ranks |= {row.test: 1 for row in verdict.never_run if row.red}
    ranks |= {row.test: 0 for row in differing if row.red}
    expected = {(row.test, row.device) for row in verdict.expected}
    for test, row in verdict.matrix.cells.items():
        kinds = {
            name: "expected" if (test, name) in expected else _kind(resolved.cell) for name, resolved in row.items()
        }
        if test not in ranks and (rank := _rank(kinds)) is not None:
            ranks[test] = rank
    return ranks


def _rank(kinds: Mapping[str, str]) -> int | None:
    if "bad" in kinds.values():
        return 3
    gpus = {kind for name, kind in kinds.items() if name != CPU}
    if len(gpus) < 2:
        return None
    return 4 if "fine" in gpus else 5


def _kind(cell: Cell) -> str:
    """What makes two devices differ: a native pass here and a fitting launch there do not."""
    if cell.standing is Standing.BAD:
        return "bad"
    if cell.slow:
        return "slow"
    if cell.standing is Standing.GOOD or cell.outcome is Outcome.COMPILED:
        return "fine"
    return "skipped" if cell.outcome in _SKIPS else cell.outcome.value
