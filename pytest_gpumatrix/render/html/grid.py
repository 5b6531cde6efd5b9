"""The matrix as the page draws it: which tests, grouped by file, and for each cell one of a few kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.render.html.room import Full, Room, Table
from pytest_gpumatrix.render.marks import UNICODE, slow_there, words_for
from pytest_gpumatrix.render.text import clean
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.verdict import ChangeRow, Verdict

_LONGEST_NAME = 500  # characters of a test's name, without its file
_LONGEST_FILE = 200
_NUMBER = re.compile(r"[0-9]+")
# Of cells that are neither bad, unknown nor expected: how the page paints them.
_LOOKS = {
    Outcome.PASSED: "pass",
    Outcome.XFAILED: "xfail",
    Outcome.XPASSED: "xpass",
    Outcome.COMPILED: "fits",
    Outcome.SKIPPED: "skip",
    Outcome.SKIPPED_REQUIREMENT: "skip",
    Outcome.NOT_RUN: "absent",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """Tests in the page's order."""

    tests: tuple[str, ...]  # full ids
    names: tuple[str, ...]  # as shown, without the file
    files: tuple[tuple[str, int], ...]  # (file as shown, how many of its tests follow)
    cut: int  # tests for which there was no room

    @property
    def rows(self) -> Mapping[str, int]:
        """Where each test is."""
        return {test: row for row, test in enumerate(self.tests)}


def grid_of(verdict: Verdict, ranks: Mapping[str, int], room: Room) -> Grid:
    """The tests of head and those that are gone from it, as many as fit, those worth a look before the others."""
    tests = every_test(verdict)
    last = max(ranks.values(), default=0) + 1
    kept: list[str] = []
    per_cell = [1000] * len(verdict.devices)  # a kind and a duration for each device
    for test in sorted(tests, key=lambda test: (ranks.get(test, last), test)):
        try:
            room.take([*_parts(test), per_cell, per_cell])
        except Full:
            break
        kept.append(test)
    files: dict[str, list[str]] = {}
    for test in sorted(kept, key=_natural):
        files.setdefault(_parts(test)[0], []).append(test)
    ordered = tuple(test for own in files.values() for test in own)
    return Grid(
        tests=ordered,
        names=tuple(_parts(test)[1] for test in ordered),
        files=tuple((file, len(own)) for file, own in files.items()),
        cut=len(tests) - len(kept),
    )


def every_test(verdict: Verdict) -> set[str]:
    """Those of head, and those that a row speaks of though they are gone from it."""
    gone = {row.test for row in verdict.changes}
    return {*verdict.matrix.cells, *gone, *(row.test for row in verdict.metrics), *(row.test for row in verdict.drift)}


def shown_name(test: str) -> str:
    """A test as the page names it: its file and the rest, each cut where it is very long."""
    file, name = _parts(test)
    return f"{file}::{name}" if file else name


def _natural(test: str) -> tuple[str, str]:
    """Orders "case_9" before "case_10"."""
    return _NUMBER.sub(lambda number: number[0].zfill(12), test[:_LONGEST_NAME]), test


def _parts(test: str) -> tuple[str, str]:
    file, separator, name = test.partition("::")
    if not separator:
        file, name = "", test
    return _shortened(file, _LONGEST_FILE), _shortened(name, _LONGEST_NAME)


def _shortened(text: str, longest: int) -> str:
    """Its beginning and its end, which tell parameters apart."""
    if len(text) > longest:
        end = longest // 3
        text = f"{text[: longest - end]}…{text[-end:]}"
    return clean(text)


def kinds_of(verdict: Verdict, tests: Sequence[str], kinds: Table) -> Iterator[int]:
    """The kind of each cell, test by test and in each device by device."""
    changes = {(row.test, name): row for row in verdict.changes for name in row.devices}
    expected = {(row.test, row.device) for row in verdict.expected}
    names = [item.device.name for item in verdict.devices]
    for test in tests:
        row = verdict.matrix.cells.get(test, {})
        for name in names:
            cell = row[name].cell if name in row else None
            yield _kind(cell, changes.get((test, name)), (test, name) in expected, kinds)


def _kind(cell: Cell | None, row: ChangeRow | None, expected: bool, kinds: Table) -> int:
    cause = cell.cause.category.value if cell and cell.cause else ""
    changed = (row.change, row.scope, row.red) if row else None
    shown = (cell.outcome, cell.evidence, cell.strict, slow_there(cell)) if cell else None
    return kinds.index((shown, changed, cause, expected), lambda: _told(cell, row, cause, expected=expected))


def _told(cell: Cell | None, row: ChangeRow | None, cause: str, *, expected: bool) -> dict[str, Any]:
    change = row.change if row else None
    return {
        "look": look_of(cell, change, expected=expected),
        "mark": UNICODE.of(cell) if cell else "",
        "outcome": cell.outcome.value if cell else "",
        "words": words_for(cell.outcome, cell.evidence) if cell else "no result",
        "evidence": cell.evidence.value if cell else Evidence.NONE.value,
        "slow": bool(cell and slow_there(cell)),
        "change": change.value if change else "",
        "scope": clean(row.scope) if row else "",
        "red": bool(row and row.red),
        "cause": cause,
        "expected": expected,
    }


def look_of(cell: Cell | None, change: Change | None, *, expected: bool) -> str:
    """How a cell is painted; its evidence and its change are drawn besides."""
    if cell is None:
        return "absent"
    if expected:
        return "expected"
    if cell.standing is Standing.BAD:
        return "old" if change is Change.STILL_FAILING else "bad"
    if cell.standing is Standing.UNKNOWN:
        return "unknown"
    if cell.standing is Standing.GOOD and cell.evidence is not Evidence.NATIVE:
        return "posed"  # good, but not known from the device itself
    return _LOOKS[cell.outcome]
