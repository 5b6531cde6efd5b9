"""What the marks of the collected gpu tests say for each compiled device. A worker leaves it to the controller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import pytest

from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.gate.expectation import expected_failure
from pytest_gpumatrix.record.atomic import write_atomically
from pytest_gpumatrix.session.marked import NEED, XFAIL_MARKS
from pytest_gpumatrix.session.matrix import Matrix
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.triage.printable import printable


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """A failure that a gpu_xfail mark expects. What it ``raises`` cannot be known of a launch that was compiled."""

    reason: str
    cause: Category | None
    strict: bool


class GpuTest(msgspec.Struct, frozen=True, kw_only=True):
    """One gpu test, and what its marks say for each compiled device."""

    requirement: str
    unmet: Mapping[str, gate.Unmet]
    expected: Mapping[str, Expected]


def describe_gpu_tests(
    items: Iterable[pytest.Item], devices: Iterable[gate.Device], matrix: Matrix
) -> dict[str, GpuTest]:
    """The gpu tests among the collected ones."""
    devices = tuple(devices)
    return {
        printable(item.nodeid): _describe(item, devices, matrix)
        for item in items
        if item.stash.get(NEED, None) is not None
    }


def write_gpu_tests(tests: Mapping[str, GpuTest], path: Path) -> None:
    """Write them for the controller; the file appears whole or not at all."""
    write_atomically(path, msgspec.json.encode(tests))


def read_gpu_tests(path: Path) -> dict[str, GpuTest]:
    """Read what a worker wrote."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, GpuTest])


def _describe(item: pytest.Item, devices: tuple[gate.Device, ...], matrix: Matrix) -> GpuTest:
    need, marks = item.stash[NEED], item.stash.get(XFAIL_MARKS, ())
    unmet, expected = {}, {}
    for device in devices:
        if (reason := gate.unmet(need, device, gate.modules_present)) is not None:
            unmet[device.name] = reason
        if (failure := expected_failure(marks, device, matrix.is_device)) is not None:
            expected[device.name] = Expected(reason=failure.reason, cause=failure.cause, strict=failure.strict)
    return GpuTest(requirement=need.text, unmet=unmet, expected=expected)
