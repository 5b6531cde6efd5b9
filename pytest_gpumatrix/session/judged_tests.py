"""Which tests are judged for other devices, and what their marks say for each. A worker leaves it to the controller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import pytest

from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.gate.expectation import expected_failure
from pytest_gpumatrix.record.atomic import write_atomically
from pytest_gpumatrix.record.cell import Place
from pytest_gpumatrix.session.columns import Columns
from pytest_gpumatrix.session.marked import NEED, XFAIL_MARKS
from pytest_gpumatrix.session.matrix import Matrix
from pytest_gpumatrix.session.places import definition
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.triage.printable import printable


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """A failure that a gpu_xfail mark expects. What it ``raises`` cannot be known of a launch that was compiled."""

    reason: str
    cause: Category | None
    strict: bool


class JudgedTest(msgspec.Struct, frozen=True, kw_only=True):
    """One judged test, and what its marks say for each compiled device."""

    requirement: str | None  # None for an ordinary test
    unmet: Mapping[str, gate.Unmet]
    expected: Mapping[str, Expected]
    place: Place | None = None  # where it is defined


def is_judged(item: pytest.Item, columns: Columns) -> bool:
    """Whether a test's launches are judged: those of gpu tests, and where a GPU poses those of each test."""
    return columns.running.posed is not None or item.stash.get(NEED, None) is not None


def describe_tests(items: Iterable[pytest.Item], columns: Columns, matrix: Matrix) -> dict[str, JudgedTest]:
    """The judged tests among the collected ones."""
    return {
        printable(item.nodeid): _describe(item, columns.compiled, matrix) for item in items if is_judged(item, columns)
    }


def write_judged_tests(tests: Mapping[str, JudgedTest], path: Path) -> None:
    """Write them for the controller; the file appears whole or not at all."""
    write_atomically(path, msgspec.json.encode(tests))


def read_judged_tests(path: Path) -> dict[str, JudgedTest]:
    """Read what a worker wrote."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, JudgedTest])


def _describe(item: pytest.Item, devices: tuple[gate.Device, ...], matrix: Matrix) -> JudgedTest:
    need, marks = item.stash.get(NEED, None), item.stash.get(XFAIL_MARKS, ())
    unmet, expected = {}, {}
    for device in devices:
        if need is not None and (reason := gate.unmet(need, device, gate.modules_present)) is not None:
            unmet[device.name] = reason
        if (failure := expected_failure(marks, device, matrix.is_device)) is not None:
            expected[device.name] = Expected(reason=failure.reason, cause=failure.cause, strict=failure.strict)
    requirement = need.text if need is not None else None
    return JudgedTest(requirement=requirement, unmet=unmet, expected=expected, place=definition(item.location))
