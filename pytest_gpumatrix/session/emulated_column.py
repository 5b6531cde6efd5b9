"""The column of an emulated run: what it left, and what must be said of what it did not leave. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_gpumatrix.portability.compiling.process_ends import how_it_ended
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.journal import SESSION
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing

_IN_GOOD_ORDER = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def completed(left: Column, code: int | None, collected: Mapping[str, str | None], problem: str = "") -> Column:
    """The column that a run left, with a cell for each test that it did not collect, and one of the session itself
    where it did not end in good order.

    ``code`` is its exit code, negative for a signal, None for an interrupt; ``collected`` are the tests of the run
    that started it, with their gpu marks; ``problem`` says why ``left`` is empty, if that is not for want of tests.
    """
    cells = dict(left.cells)
    if (why := _why_unknown(left, code, problem)) is not None:
        cells[SESSION] = _cell(SESSION, Outcome.UNKNOWN, why)
    for test, requirement in collected.items():
        if test not in cells:
            cells[test] = _cell(test, Outcome.NOT_RUN, "not collected while posing", requirement)
    return replace(left, cells=cells)


def collected_there_alone(left: Column, collected: Mapping[str, str | None]) -> Sequence[str]:
    """The tests of a run that the one which started it does not have."""
    return [test for test in left.cells if "::" in test and test not in collected]  # a file is an error's name


def _why_unknown(left: Column, code: int | None, problem: str) -> str | None:
    ended = "the run was interrupted" if code is None else f"the run for it ended with {how_it_ended(code)}"
    if not left.cells and (problem or code != pytest.ExitCode.NO_TESTS_COLLECTED):
        return "; ".join([f"nothing is known of {left.device}: {ended}", *([problem] if problem else [])])
    if code is None or code in _IN_GOOD_ORDER:
        return None
    bad = [test for test, cell in left.cells.items() if cell.standing is Standing.BAD]
    if code == pytest.ExitCode.TESTS_FAILED:
        return None if bad else f"{ended}, and no test is to blame"
    return None if SESSION in bad else ended


def _cell(test: str, outcome: Outcome, message: str, requirement: str | None = None) -> Cell:
    return Cell(test=test, outcome=outcome, evidence=Evidence.EMULATED, message=message, requirement=requirement)
