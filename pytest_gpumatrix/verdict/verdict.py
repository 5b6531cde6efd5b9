"""The one object that exit code, headline, tables and JSON are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from pytest_gpumatrix.config.expectation import Expectation
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.cell_history import CellHistory
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import Contradiction
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.matrix import Matrix, MatrixDevice

_NO_RESULT = (Outcome.NOT_RUN, Outcome.UNKNOWN)


class Conclusion(str, Enum):
    """What the pull request gets."""

    OK = "ok"
    REGRESSION = "regression"
    INCOMPLETE = "incomplete"

    @property
    def exit_code(self) -> int:
        """What the command ends with, if every file was read."""
        return {Conclusion.OK: 0, Conclusion.REGRESSION: 1, Conclusion.INCOMPLETE: 3}[self]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedCell:
    """One device's part in a change."""

    cell: Cell | None  # None: absent from head
    before: Cell | None  # the base's cell
    lost: tuple[Cell, ...] = ()  # cells of weaker evidence
    note: str = ""  # what an expectation has to say of it


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeRow:
    """A change of one test, over the devices that share it."""

    test: str
    change: Change
    scope: str
    red: bool
    devices: Mapping[str, ChangedCell]
    reproduce: tuple[str, ...]  # the quoted words of a command line
    renamed_from: str | None = None  # the base's name of this test, where it was matched under another


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricRow:
    """A metric of one test on one device that moved by more than its threshold and its noise."""

    test: str
    device: str
    name: str
    unit: str
    better: str  # "lower" or "higher"
    base: float  # the median of its repeats
    head: float
    base_repeats: int
    head_repeats: int
    threshold: float  # relative: 0.1 is 10%
    noise: float  # relative, of the repeats of both sides
    worse: bool
    red: bool
    reproduce: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftRow:
    """A metric of one test that differs between devices by more than its tolerance."""

    test: str
    name: str
    unit: str
    values: Mapping[str, float]  # by device: the median of its repeats
    reference: str  # the device that the others are held against
    apart: tuple[str, ...]  # the devices beyond the tolerance
    tolerance: str  # as gpumatrix.yml states it
    before: bool | None  # whether it was so in the base; None: not known
    red: bool
    reproduce: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedRow:
    """A failure that an expectation foretold: also one that a rerun mended, and of ``skip`` one that is not known."""

    test: str
    device: str
    cell: Cell
    expectation: Expectation


@dataclass(frozen=True, kw_only=True, slots=True)
class NeverRunRow:
    """A test that no device ran."""

    test: str
    red: bool
    why: Mapping[str, Cell]  # by device
    reproduce: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StaleRow:
    """An expectation that no longer says anything."""

    expectation: Expectation
    reason: str
    red: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingDevice:
    """A device of the plan without results of the required evidence."""

    device: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceSummary:
    """One device's column in numbers."""

    device: MatrixDevice
    counts: Mapping[Evidence, Mapping[Outcome, int]]  # of the cells that count
    missing: str | None  # why

    def total(self, outcome: Outcome) -> int:
        """How many cells have an outcome, whatever their evidence."""
        return sum(counts.get(outcome, 0) for counts in self.counts.values())

    def results(self, evidence: Evidence | None = None) -> int:
        """How many cells have a result (by this evidence): what is not-run or unknown has none."""
        chosen = self.counts.values() if evidence is None else (self.counts.get(evidence, {}),)
        return sum(n for counts in chosen for outcome, n in counts.items() if outcome not in _NO_RESULT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Everything that a report says. What is red or incomplete is decided here and nowhere else."""

    devices: tuple[DeviceSummary, ...]
    changes: tuple[ChangeRow, ...]
    expected: tuple[ExpectedRow, ...]
    never_run: tuple[NeverRunRow, ...]
    never_run_decided: bool  # every device met what it requires
    never_run_natively: int  # tests that no device ran natively, those of ``never_run`` among them
    missing: tuple[MissingDevice, ...]
    broken: Mapping[str, str]  # devices out of the plan -> why a file of theirs counts as none
    stale: tuple[StaleRow, ...]
    notes: tuple[str, ...]  # what a reader must know of the baseline and the plan
    missing_is_incomplete: bool  # fail-on lists missing-device
    matrix: Matrix  # of head
    commit: str | None = None  # that the results are of, in full
    base_commit: str | None = None
    metrics: tuple[MetricRow, ...] = ()
    drift: tuple[DriftRow, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)  # files of head that were not read -> why
    base_refused: Mapping[str, str] = field(default_factory=dict)  # and of the base
    history: Mapping[str, Mapping[str, CellHistory]] = field(default_factory=dict)  # by test, then device

    @property
    def conclusion(self) -> Conclusion:
        """Regression if anything is red, else incomplete if anything is not known, else ok."""
        red = [row.red for row in self.changes]
        red += [row.red for row in self.metrics]
        red += [row.red for row in self.drift]
        red += [row.red for row in self.never_run]
        red += [row.red for row in self.stale]
        if any(red):
            return Conclusion.REGRESSION
        unknown = any(row.change is Change.UNKNOWN for row in self.changes)
        absent = self.missing_is_incomplete and (self.missing or self.broken)
        if unknown or absent or self.refused or self.base_refused or not self.has_results:
            return Conclusion.INCOMPLETE
        return Conclusion.OK

    @property
    def has_results(self) -> bool:
        """Whether any test has a result on any device."""
        return any(item.results() for item in self.devices)

    @property
    def exit_code(self) -> int:
        """2 if a file was refused, else 0 ok, 1 regression, 3 incomplete."""
        return 2 if self.refused or self.base_refused else self.conclusion.exit_code
