"""The shape of the report as JSON, and the JSON Schema that is published of it.

Schema 2: the cause of a cell is an object; it was a word, with its other parts beside it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.triage.cause import Action, Category, Confidence
from pytest_gpumatrix.verdict.change import Change
from pytest_gpumatrix.verdict.verdict import Conclusion

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")


def _told(description: str) -> msgspec.Meta:
    return msgspec.Meta(description=description)


class _Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True):
    """An object of the report: no other keys than its fields; those with a default are left out where it holds."""


class Brief(_Part, frozen=True):
    """How a result is known, and what came of it."""

    outcome: Outcome
    evidence: Evidence


class DeviceEntry(_Part, frozen=True):
    """One device's column in numbers."""

    device: str
    capability: str | None
    architecture: str | None
    evidence: Annotated[Evidence, _told("The strongest of its results; none if there are none")]
    require: Evidence
    planned: Annotated[bool, _told("gpumatrix.yml or the command line names it")]
    missing: Annotated[str | None, _told("Why it counts as missing")]
    counts: dict[Outcome, int]
    counts_by_evidence: dict[Evidence, dict[Outcome, int]]


class CauseEntry(_Part, frozen=True):
    """Why a cell is bad."""

    category: Category
    action: Action
    advice: str
    confidence: Confidence
    evidence: Annotated[str, _told("The text that decided")]
    rule: str
    reason: Annotated[str, _told("The sub-reason, where the category has several")] = ""
    note: Annotated[str, _told("What the facts say against the text")] = ""


class PlaceEntry(_Part, frozen=True):
    """Where in the code under test something is."""

    file: Annotated[str, _told("As pytest gave it, relative to its rootdir")]
    line: int | None


class CellEntry(_Part, frozen=True):
    """One test on one device."""

    outcome: Outcome
    evidence: Evidence
    message: str
    cause: CauseEntry | None
    place: PlaceEntry | None = None
    reruns: int = 0
    slow: Annotated[list[str], _told("What would run there, and be slow")] = []


class ChangedEntry(CellEntry, frozen=True, kw_only=True):
    """One device's part in a change; a cell that is absent from head is not-run."""

    before: Brief | None
    weaker: Annotated[list[Brief], _told("Cells of weaker evidence")] = []
    note: Annotated[str, _told("What an expectation has to say of it")] = ""


class ChangeEntry(_Part, frozen=True):
    """A change of one test, over the devices that share it."""

    test: str
    change: Change
    scope: str
    red: bool
    devices: dict[str, ChangedEntry]
    reproduce: str
    renamed_from: Annotated[str | None, _told("The name that the base knows the test by")] = None


class MetricEntry(_Part, frozen=True):
    """A metric that moved by more than its threshold and its noise. A value that is no number is null."""

    test: str
    device: str
    name: str
    unit: str
    better: str
    base: float | None
    head: float | None
    base_repeats: int
    head_repeats: int
    threshold: Annotated[float | None, _told("Relative: 0.1 is 10%")]
    noise: Annotated[float | None, _told("Relative, of the repeats of both sides")]
    worse: bool
    red: bool
    reproduce: str


class DriftEntry(_Part, frozen=True):
    """A metric that differs between devices by more than its tolerance."""

    test: str
    name: str
    unit: str
    values: dict[str, float | None]
    reference: str
    apart: list[str]
    tolerance: str
    before: Annotated[bool | None, _told("Whether it was so in the base; null: not known")]
    red: bool
    reproduce: str


class ExpectedEntry(_Part, frozen=True):
    """What an expectation foretold."""

    test: str
    devices: dict[str, CellEntry]
    reason: str
    place: str


class NeverRunEntry(_Part, frozen=True):
    """A test that no device ran."""

    test: str
    red: bool
    devices: dict[str, CellEntry]
    reproduce: str


class SlowEntry(_Part, frozen=True):
    """A kernel that would run, and be slow."""

    finding: str
    devices: Annotated[dict[str, list[str]], _told("The tests that launch it")]


class MissingEntry(_Part, frozen=True):
    """A device of the plan without results of the required evidence."""

    device: str
    reason: str


class SaidEntry(_Part, frozen=True):
    """What one file says."""

    file: str
    outcome: Outcome


class ContradictionEntry(_Part, frozen=True):
    """A test that is good by one file and bad by another."""

    test: str
    device: str
    evidence: Evidence
    results: Annotated[list[SaidEntry], _told("The one that counts first")]


class StaleEntry(_Part, frozen=True):
    """An expectation that no longer says anything."""

    place: str
    test: str
    devices: str
    reason: str
    red: bool


class PastEntry(_Part, frozen=True):
    """An earlier result."""

    commit: str
    time: Annotated[float | None, _told("Seconds since the epoch")]
    outcome: Outcome
    reruns: int


class PointEntry(_Part, frozen=True):
    """A metric's median at one commit; of a run that is of no known commit, the commit is empty."""

    commit: str
    value: float | None


class HistoryEntry(_Part, frozen=True):
    """What earlier runs and this one say of one test on one device, by native results."""

    failing_since: PastEntry | None
    results: Annotated[int, _told("Of how many the rate speaks")]
    flakes: Annotated[int, _told("Passes that took reruns, and commits with both good and bad results")]
    flake_rate: float
    trends: Annotated[dict[str, list[PointEntry]], _told("By metric, the oldest commit first")]


class Report(_Part, frozen=True):
    """What `gpumatrix report --format json` writes."""

    schema: Literal[2]
    verdict: Conclusion
    exit_code: int
    headline: str
    notes: list[str]
    devices: list[DeviceEntry]
    changes: list[ChangeEntry]
    metrics: list[MetricEntry]
    drift: list[DriftEntry]
    expected: list[ExpectedEntry]
    never_run: list[NeverRunEntry]
    never_run_decided: bool
    never_run_natively: int
    slow: list[SlowEntry]
    missing_devices: list[MissingEntry]
    broken: Annotated[dict[str, str], _told("Devices out of the plan, and why a file of theirs counts as none")]
    commit: Annotated[str | None, _told("The commit that the results are of")]
    base_commit: str | None
    refused: Annotated[dict[str, str], _told("Files that were not read, and why")]
    base_refused: dict[str, str]
    contradictions: list[ContradictionEntry]
    stale_expectations: list[StaleEntry]
    history: Annotated[dict[str, dict[str, HistoryEntry]], _told("By test, then device")]


def json_schema() -> str:
    """The JSON Schema of the report as text; ``SCHEMA_FILE`` holds it."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpumatrix report",
        **msgspec.json.schema(Report),
    }
    return json.dumps(schema, indent=2) + "\n"
