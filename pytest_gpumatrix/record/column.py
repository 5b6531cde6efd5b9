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
    cuda_driver_version: str | None = None  # the newest CUDA that the driver knows: "13.0"
    # Of the GPU that tests begin on, as decimal text; sizes in bytes. Where it poses as another, its limits are the
    # posed device's and its memory is its own.
    gpu_count: str | None = None
    gpu_sm_count: str | None = None
    gpu_shared_memory_optin: str | None = None
    gpu_memory_total: str | None = None
    gpu_memory_free_at_start: str | None = None
    gpu_memory_others_at_start: str | None = None  # held by other processes
    gpu_mig: str | None = None  # "true" or "false"
    gpu_display: str | None = None  # whether a display is attached, so that a watchdog may end long kernels
    platform: str | None = None  # "wsl", "container", "wsl, container"
    # What torch said of itself at the end of the session, if the tests loaded it.
    torch_archs: str | None = None  # the architectures that it was built for: "sm_80 sm_90"
    torch_tf32: str | None = None  # where it may round float32 to TF32: "matmul", "cudnn", "matmul, cudnn", "none"
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
