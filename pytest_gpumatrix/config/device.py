"""A column of the matrix as gpumatrix.yml states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.record.outcome import Evidence

# As written: a label, labels, or {"group": ..., "labels": ...}.
RunsOn = str | Sequence[str] | Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """A kind of GPU of the matrix."""

    name: str  # "h100", or the profile's id where no file names it
    profile: Profile
    runs_on: RunsOn | None = field(default=None, hash=False)
    require: Evidence = Evidence.NATIVE  # weaker evidence leaves it missing
    count: int = 1  # GPUs of its runner
