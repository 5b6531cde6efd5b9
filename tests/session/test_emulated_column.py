"""What a run left, its exit code, and what the run that started it collected -> the column."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.journal import SESSION
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.session.emulated_column import collected_there_alone, completed

P, F, E = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR


def left(**outcomes: Outcome) -> Column:
    cells = {
        name if name == SESSION else f"t.py::{name}": Cell(test=name, outcome=outcome, evidence=Evidence.EMULATED)
        for name, outcome in outcomes.items()
    }
    return Column(device="rtx3090", evidence=Evidence.EMULATED, cells=cells)


CASES: list[tuple[Column, int | None, str, str | None]] = [
    # what was left, exit code, why nothing was -> what is said of the session
    (left(a=P), 0, "", None),
    (left(a=F), 1, "", None),
    (left(a=F), 0, "", None),
    (left(a=P), 1, "", "the run for it ended with exit code 1, and no test is to blame"),
    (left(a=P, pytest=E), 1, "", None),
    (left(a=P), -11, "", "the run for it ended with SIGSEGV"),
    (left(a=F), -9, "", "the run for it ended with SIGKILL"),
    (left(a=P), -99, "", "the run for it ended with signal 99"),
    *((left(a=F), code, "", f"the run for it ended with exit code {code}") for code in (2, 3, 4, 7, 134, 139)),
    (left(a=P, pytest=Outcome.UNKNOWN), 3, "", "the run for it ended with exit code 3"),
    (left(pytest=E), 3, "", None),
    (left(), 5, "", None),
    (
        left(),
        5,
        "it left no results",
        "nothing is known of rtx3090: the run for it ended with exit code 5; it left no results",
    ),
    (left(), 0, "", "nothing is known of rtx3090: the run for it ended with exit code 0"),
    (left(), 4, "cut off", "nothing is known of rtx3090: the run for it ended with exit code 4; cut off"),
    (left(), None, "it left no results", "nothing is known of rtx3090: the run was interrupted; it left no results"),
    (left(a=P), None, "", None),
]


@pytest.mark.parametrize(("column", "code", "problem", "why"), CASES)
def test_what_the_session_came_to(column: Column, code: int | None, problem: str, why: str | None) -> None:
    cells = completed(column, code, {}, problem).cells
    if why is None:
        assert cells == column.cells
    else:
        cell = cells[SESSION]
        assert (cell.outcome, cell.evidence, cell.message) == (Outcome.UNKNOWN, Evidence.EMULATED, why)
        assert {**cells, SESSION: cell} == {**column.cells, SESSION: cell}


def test_what_was_not_collected_has_not_run() -> None:
    collected = {"t.py::a": "gpu()", "t.py::b": "gpu()", "t.py::c": None}
    cells = completed(left(a=P), 0, collected).cells
    assert {test: cell.outcome for test, cell in cells.items()} == {
        "t.py::a": P,
        "t.py::b": Outcome.NOT_RUN,
        "t.py::c": Outcome.NOT_RUN,
    }
    assert {cells[test].message for test in ("t.py::b", "t.py::c")} == {"not collected while posing"}
    assert (cells["t.py::b"].requirement, cells["t.py::c"].requirement) == ("gpu()", None)


def test_what_was_collected_there_alone() -> None:
    column = left(a=P, b=P, pytest=Outcome.UNKNOWN)
    column = Column(
        device="rtx3090", evidence=Evidence.EMULATED, cells={**column.cells, "u.py": column.cells["t.py::a"]}
    )
    assert collected_there_alone(column, {"t.py::a": None}) == ["t.py::b"]
