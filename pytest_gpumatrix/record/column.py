"""One device's results of one run: a column of the matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.outcome import Evidence

CPU = "cpu"  # the reserved column of a machine without a GPU; never part of a scope


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionFacts:
    """Where and on what a column was made; what cannot be known is None or "". JUnit keeps it."""

    gpu_name: str | None = None
    gpu_uuid: str | None = None
    gpu_compute_capability: ComputeCapability | None = None
    driver_version: str | None = None
    commit: str | None = None  # full hash of the code under test
    dirty: bool | None = None  # whether it had uncommitted changes
    versions: Mapping[str, str] = field(default_factory=dict)  # python, pytest, torch, triton, ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """The cells of one device by one kind of evidence."""

    device: str  # as named in gpumatrix.yml, or a profile's id, or "cpu"
    evidence: Evidence
    cells: Mapping[str, Cell]  # by test
    facts: SessionFacts = SessionFacts()
    source: str = ""  # the file it was read from, for messages
