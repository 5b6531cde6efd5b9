"""Tests that are expected to fail on some devices."""

from __future__ import annotations

import datetime
import fnmatch
import re
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet

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
class TestPattern:
    """Node ids with ``*`` for any text and ``?`` for one character; "[" and "]" stand for themselves.

    It matches a node id as pytest writes it or as JUnit does ("tests/test_a.py::TestB::test_c" and
    "tests.test_a.TestB::test_c" are one), since a plain JUnit file does not tell where the module ends.
    """

    __test__ = False  # not a test, whatever pytest makes of its name

    text: str
    _forms: tuple[re.Pattern[str], re.Pattern[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        forms = (_glob(self.text), _glob(_dotted(self.text)))
        object.__setattr__(self, "_forms", forms)

    def matches(self, test: str) -> bool:
        """Whether a node id is meant."""
        node_id, dotted = self._forms
        return bool(node_id.fullmatch(test) or dotted.fullmatch(_dotted(test)))


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


def _glob(text: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(text.replace("[", "[[]")))  # its patterns do not backtrack without bound


def _dotted(test: str) -> str:
    """The form that both spellings of a node id share; parameters stay as they are."""
    path, bracket, parameters = test.partition("[")
    return path.replace(".py::", ".").replace("::", ".").replace("/", ".") + bracket + parameters
