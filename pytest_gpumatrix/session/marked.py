"""The marks of collected tests, read once and kept with the test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.gate.expectation import XfailMark
from pytest_gpumatrix.gate.marks import parse_gpu, parse_gpu_xfail
from pytest_gpumatrix.gate.requirement import Need
from pytest_gpumatrix.session.matrix import matrix_of

NEED = pytest.StashKey[Need]()
XFAIL_MARKS = pytest.StashKey[Sequence[XfailMark]]()


def read_marks(items: Iterable[pytest.Item]) -> list[str]:
    """Read each test's marks into its stash. Returns what could not be read, one line per test."""
    problems = []
    for item in items:
        try:
            _read(item)
        except (ValueError, GpuMatrixError) as error:
            path, line, _ = item.location
            where = f"{path}:{line + 1}" if line is not None else path
            problems.append(f"{item.nodeid} ({where}): {error}")
    return problems


def _read(item: pytest.Item) -> None:
    requirements = tuple(parse_gpu(mark) for mark in item.iter_markers("gpu"))
    xfails = tuple(parse_gpu_xfail(mark) for mark in item.iter_markers("gpu_xfail"))
    for mark in xfails:
        if mark.device is not None:
            matrix_of(item.config).check_name(mark.device)
    if requirements:
        item.stash[NEED] = Need(requirements=requirements)
    if xfails:
        item.stash[XFAIL_MARKS] = xfails
