from __future__ import annotations

import pytest

from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.session.compiled import explained, placed
from pytest_gpumatrix.session.judged_tests import Expected

KERNEL, TEST = Place(file="kernels.py", line=3), Place(file="test_a.py", line=9)


def cell(outcome: Outcome, place: Place | None = None) -> Cell:
    return Cell(test="t", outcome=outcome, evidence=Evidence.COMPILED, message="too large", place=place)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (cell(Outcome.FAILED, KERNEL), KERNEL),
        (cell(Outcome.FAILED), TEST),
        (cell(Outcome.COMPILED), None),
        (cell(Outcome.NOT_RUN), None),
    ],
)
def test_a_bad_cell_has_a_place(found: Cell, place: Place | None) -> None:
    assert placed(found, TEST).place == place


def test_a_failure_that_is_expected_has_none() -> None:
    expected = Expected(reason="known", cause=None, strict=True)
    found = explained(placed(cell(Outcome.FAILED, KERNEL), TEST), expected)
    assert (found.outcome, found.place) == (Outcome.XFAILED, None)
