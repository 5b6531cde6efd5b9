"""A verdict as the page's data: small tables, integers that point into them, and no more than fits.

``data["cells"]`` has an index of ``data["kinds"]`` for each test and device, test by test; ``data["details"]`` has
``[test * devices + device, what the cell tells]``. Every text is cleaned: one line of printable characters, messages
and tracebacks of many lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing, standing
from pytest_gpumatrix.render.answer import answer
from pytest_gpumatrix.render.html.details import Details, Tables
from pytest_gpumatrix.render.html.grid import Grid, grid_of, kinds_of
from pytest_gpumatrix.render.html.room import Full, Room, Table
from pytest_gpumatrix.render.html.sections import Sections
from pytest_gpumatrix.render.marks import UNICODE, words_for
from pytest_gpumatrix.render.rows import ranks_of
from pytest_gpumatrix.render.text import clean
from pytest_gpumatrix.verdict.headline import headline
from pytest_gpumatrix.verdict.verdict import DeviceSummary, Verdict

LARGEST = 24 * 1024 * 1024  # bytes of the data; a browser reads this in about half a second
_LONGEST = 500


def page_data(verdict: Verdict, *, title: str, largest: int = LARGEST) -> dict[str, Any]:
    """What page.js reads. Of it ``largest`` bytes at most grow with the results."""
    ranks = ranks_of(verdict)
    for_tests = Room(largest // 2)
    grid = grid_of(verdict, ranks, for_tests)
    room = Room(largest // 2 + for_tests.left)
    sections = Sections(verdict, grid.rows, room)
    kinds = Table(room)
    tables = Tables.within(room)
    found = {
        "title": clean(title),
        "conclusion": verdict.conclusion.value,
        "headline": clean(headline(verdict)),
        "answer": _answer(verdict),
        "devices": [_device(summary) for summary in verdict.devices],
        "files": grid.files,
        "tests": grid.names,
        "cells": list(kinds_of(verdict, grid.tests, kinds)),
        "kinds": kinds.values,
        "ranks": _ranks(grid, ranks),
        "tags": _tags(verdict, grid),
        "seconds": _seconds(verdict, grid),
        "red": sections.red(),
        "notices": sections.notices(),
        "tables": sections.tables(),
    }
    details, cut = _details(verdict, grid, ranks, tables, room)
    return {
        **found,
        "details": details,
        "strings": tables.strings.values,
        "causes": tables.causes.values,
        "cut": _cut(grid, cut),
    }


def _answer(verdict: Verdict) -> dict[str, Any]:
    found = answer(verdict)
    devices = [clean(name) for name in found.devices]
    return {"word": found.word, "before": found.before, "devices": devices, "after": found.after}


def _device(summary: DeviceSummary) -> dict[str, Any]:
    device = summary.device
    return {
        "name": clean(device.name),
        "capability": str(device.capability) if device.capability else "",
        "architecture": device.architecture or "",
        "evidence": device.reported.value,
        "require": device.require.value if device.planned else "",
        "missing": clean(summary.missing[:_LONGEST]) if summary.missing else "",
        "counts": [
            [UNICODE.mark(outcome, evidence), words_for(outcome, evidence), count, _share(outcome, evidence)]
            for outcome in Outcome
            for evidence in Evidence
            if (count := summary.counts.get(evidence, {}).get(outcome))
        ],
    }


def _share(outcome: Outcome, evidence: Evidence) -> str:
    """How the bar of a device paints what so many cells have."""
    found = standing(outcome)
    return "posed" if found is Standing.GOOD and evidence is not Evidence.NATIVE else found.value


def _ranks(grid: Grid, ranks: Mapping[str, int]) -> list[list[int]]:
    """[row, rank] of the tests worth a look."""
    return [[row, ranks[test]] for row, test in enumerate(grid.tests) if test in ranks]


def _tags(verdict: Verdict, grid: Grid) -> list[list[Any]]:
    """[row, words, whether red] for what is of a test and not of a cell."""
    found: dict[str, dict[str, bool]] = {}
    said = [(row.test, "never-run", row.red) for row in verdict.never_run]
    said += [(row.test, "metric", row.red) for row in verdict.metrics]
    said += [(row.test, "numeric-drift", row.red) for row in verdict.drift]
    said += [(row.test, "contradiction", False) for row in verdict.contradictions]
    said += [(row.test, "renamed", False) for row in verdict.changes if row.renamed_from]
    for test, tag, red in said:
        found.setdefault(test, {})[tag] = red or found.get(test, {}).get(tag, False)
    rows = grid.rows
    return [[rows[test], tag, red] for test, tags in found.items() if test in rows for tag, red in tags.items()]


def _seconds(verdict: Verdict, grid: Grid) -> list[int]:
    """Milliseconds of each cell, in the order of ``cells``; 0 where nothing ran."""
    names = [item.device.name for item in verdict.devices]
    rows = (verdict.matrix.cells.get(test, {}) for test in grid.tests)
    return [_milliseconds(row[name].cell.duration) if name in row else 0 for row in rows for name in names]


def _milliseconds(seconds: float) -> int:
    return round(min(max(seconds, 0), 1e6) * 1000) if math.isfinite(seconds) else 0


def _details(
    verdict: Verdict, grid: Grid, ranks: Mapping[str, int], tables: Tables, room: Room
) -> tuple[list[Any], int]:
    """What each cell tells, those worth a look before the others; and for how many there was no room."""
    of_cell = Details(verdict, tables)
    names = [item.device.name for item in verdict.devices]
    last = max(ranks.values(), default=0) + 1
    order = sorted(range(len(grid.tests)), key=lambda row: ranks.get(grid.tests[row], last))
    found: list[Any] = []
    cut = 0
    for row in order:
        for column, name in enumerate(names):
            try:
                detail = [row * len(names) + column, of_cell.of(grid.tests[row], name)]
                if detail[1]:
                    room.take(detail)
                    found.append(detail)
            except Full:
                cut += 1
    return found, cut


def _cut(grid: Grid, details: int) -> list[str]:
    cut = [f"{grid.cut:,} tests that are alike on every device or come last"] if grid.cut else []
    return [*cut, *([f"the messages and metrics of {details:,} cells"] if details else [])]
