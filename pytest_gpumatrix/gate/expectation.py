"""Failures that are expected of a test on some devices, and whether one came."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.gate.requirement import Device
from pytest_gpumatrix.gate.specifier import allows
from pytest_gpumatrix.hardware.target import Target
from pytest_gpumatrix.triage.cause import Category, Cause


@dataclass(frozen=True, kw_only=True, slots=True)
class XfailMark:
    """One ``gpu_xfail`` mark. Exactly one of capabilities, target and device is set."""

    where: str  # as written
    capabilities: SpecifierSet | None
    target: Target | None
    device: str | None
    cause: Category | None  # only a failure of this cause meets it
    raises: tuple[type[BaseException], ...]  # only these exceptions meet it; empty: any
    reason: str
    strict: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedFailure:
    """Why a test is expected to fail on one device, and by what."""

    reason: str
    cause: Category | None = None
    raises: tuple[type[BaseException], ...] = ()
    strict: bool = True


def expected_failure(
    marks: Iterable[XfailMark], device: Device, same_device: Callable[[str, Device], bool]
) -> ExpectedFailure | None:
    """What the marks, nearest first, expect on a device. ``same_device`` knows the names of the matrix."""
    for mark in marks:
        if _holds(mark, device, same_device):
            reason = mark.reason or f"expected to fail on {mark.where}"
            return ExpectedFailure(reason=reason, cause=mark.cause, raises=mark.raises, strict=mark.strict)
    return None


def not_met_because(expected: ExpectedFailure, cause: Cause | None, error: BaseException | None) -> str | None:
    """Why a failure is not the expected one, or None if it is. ``error`` is None where there was no exception."""
    if expected.raises and error is not None and not isinstance(error, expected.raises):
        names = ", ".join(kind.__name__ for kind in expected.raises)
        return f"expected {names}, got {type(error).__name__}"
    if expected.cause is not None and (cause is None or cause.category is not expected.cause):
        found = cause.category.value if cause else "no cause"
        return f"expected to fail by {expected.cause.value}, failed by {found}"
    return None


def _holds(mark: XfailMark, device: Device, same_device: Callable[[str, Device], bool]) -> bool:
    if mark.device is not None:
        return same_device(mark.device, device)
    if mark.target is not None:
        return device.profile.capability in mark.target.capabilities
    return mark.capabilities is not None and allows(mark.capabilities, device.profile.capability)
