"""What tests are expected to do on some devices."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.config.pattern import TestPattern
from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.gate.specifier import allows
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.triage.cause import Category


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceSelector:
    """Devices by name, or by a specifier over the compute capability; exactly one is set."""

    text: str  # as written
    names: frozenset[str] = frozenset()
    capabilities: SpecifierSet | None = None

    def selects(self, device: str, capability: ComputeCapability | None) -> bool:
        """Whether a device is meant. A specifier means none whose capability is not known."""
        if self.capabilities is None:
            return device in self.names
        return capability is not None and allows(self.capabilities, capability)


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """One entry of ``expectations``."""

    test: TestPattern
    devices: DeviceSelector
    expect: Expect
    cause: Category | None  # only a failure of this cause meets it
    reason: str
    until: datetime.date | None  # the last day on which it holds
    strict: bool  # an unexpected pass is red
    place: str  # "gpumatrix.yml:12"

    def expired(self, today: datetime.date) -> bool:
        """Whether it no longer holds."""
        return self.until is not None and today > self.until
