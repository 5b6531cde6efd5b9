"""How far an entry of gpumatrix.yml would reach over the cells of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pytest_gpumatrix.config.expectation import DeviceSelector
from pytest_gpumatrix.config.pattern import TestIndex, TestPattern
from pytest_gpumatrix.config.schema import Expect
from pytest_gpumatrix.gate.specifier import parse_capabilities
from pytest_gpumatrix.record.column import CPU
from pytest_gpumatrix.record.outcome import Outcome
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.expected import meets
from pytest_gpumatrix.verdict.matrix import Matrix

# One that is unknown may have passed.
_MAY_PASS = frozenset({Outcome.PASSED, Outcome.XFAILED, Outcome.XPASSED, Outcome.COMPILED, Outcome.UNKNOWN})
_NO_RESULT = frozenset({Outcome.NOT_RUN, Outcome.SKIPPED, Outcome.SKIPPED_REQUIREMENT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """What the cells of one entry share."""

    function: str  # the node id up to its parameters
    expect: Expect
    cause: Category | None
    devices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """The cells that an entry could reach."""

    matrix: Matrix
    tests: TestIndex
    nameable: Collection[str]  # the devices that an entry may name, beside the CPU
    proposed: Mapping[tuple[str, str], Kind]  # the cells that entries are wanted for, by test and device

    def devices_for(self, pattern: str, tests: Collection[str], kind: Kind) -> str | tuple[str, ...]:
        """How an entry may write the devices of its kind, so that it speaks of ``tests`` there, of no test that may
        pass, and of no failure that nobody asked an entry of this kind for.

        A specifier, for several devices, if it means just them among those that have a result; else their names; ""
        if neither will do.
        """
        matched = TestPattern(text=pattern).among(self.tests)
        if not matched >= set(tests):
            return ""
        for written, selector in self._forms(tests, kind.devices):
            if not self._too_far(selector, matched, tests, kind):
                return written
        return ""

    def _forms(
        self, tests: Collection[str], devices: tuple[str, ...]
    ) -> Iterator[tuple[str | tuple[str, ...], DeviceSelector]]:
        named = all(device == CPU or device in self.nameable for device in devices)
        if len(devices) > 1 or not named:
            for text in self._specifiers(tests, devices):
                yield text, DeviceSelector(text=text, capabilities=parse_capabilities(text))
        if named:
            selector = DeviceSelector(text=", ".join(devices), names=frozenset(devices))
            yield (devices if len(devices) > 1 else devices[0]), selector

    def _specifiers(self, tests: Collection[str], devices: tuple[str, ...]) -> Iterator[str]:
        """Below, or from a capability on; of devices that have one capability in common, that one."""
        capability = {device.name: device.capability for device in self.matrix.devices if device.capability}
        own = {capability[device] for device in devices if device in capability}
        if any(device not in capability for device in devices):
            return
        others = {capability[name] for name in capability.keys() - set(devices) if self._has_result(name, tests)}
        if others and max(own) < min(others):
            yield f"<{min(others)}"
        if others and min(own) > max(others):
            yield f">={min(own)}"
        if len(own) == 1:
            yield f"=={min(own)}"

    def _has_result(self, device: str, tests: Collection[str]) -> bool:
        cells = (self.matrix.cell(test, device) for test in tests)
        return any(cell is not None and cell.outcome not in _NO_RESULT for cell in cells)

    def _too_far(self, selector: DeviceSelector, matched: Collection[str], tests: Collection[str], kind: Kind) -> bool:
        """Whether it would reach what may pass, a result of ``tests`` on another device, or hide a failure."""
        selected = [d.name for d in self.matrix.devices if selector.selects(d.name, d.capability)]
        own = set(tests)
        for test in matched:
            for name in selected:
                cell = self.matrix.cell(test, name)
                if cell is None or (test in own and name in kind.devices):
                    continue
                if cell.outcome in _MAY_PASS or (test in own and cell.outcome not in _NO_RESULT):
                    return True
                if meets(cell, kind.expect, kind.cause) and not self._wanted(test, name, kind):
                    return True
        return False

    def _wanted(self, test: str, device: str, kind: Kind) -> bool:
        """Whether an entry of this kind is wanted for a cell, in this group or another."""
        own = self.proposed.get((test, device))
        return own is not None and (own.expect, own.cause) == (kind.expect, kind.cause)
