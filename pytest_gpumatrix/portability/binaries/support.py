"""What a library carries, held against devices: which run its machine code, which its PTX, and which nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.binaries.candidates import NotRead
from pytest_gpumatrix.portability.binaries.environment import Origin


class Way(str, Enum):
    """How a device runs what a library carries."""

    MACHINE_CODE = "machine-code"
    PTX = "ptx"  # the driver translates it when it is loaded, and keeps it if it can
    LEFT_OUT = "left-out"


class ReadBy(str, Enum):
    """How what a library carries was read."""

    CUOBJDUMP = "cuobjdump"
    HEADERS = "headers"  # its own, where cuobjdump fails
    TEXT = "text"  # of PTX


@dataclass(frozen=True, kw_only=True, slots=True)
class Library:
    """A file with CUDA code, and how many pieces of it there are for each architecture."""

    path: Path
    code: Mapping[Binary, int]
    read_by: ReadBy = ReadBy.CUOBJDUMP

    def way(self, device: ComputeCapability) -> Way:
        """How a device runs it. One piece of code that loads is enough: the pieces are not told apart."""
        loading = [binary for binary in self.code if binary.refusal(device) is None]
        if not loading:
            return Way.LEFT_OUT
        return Way.PTX if all(binary.ptx for binary in loading) else Way.MACHINE_CODE

    def pieces(self, device: ComputeCapability) -> tuple[int, int]:
        """How many pieces of code load on a device, and of how many: those of the architecture that has most."""
        counts = [count for binary, count in self.code.items() if binary.refusal(device) is None]
        return max(counts, default=0), max(self.code.values(), default=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """The libraries of one distribution."""

    origin: Origin
    libraries: tuple[Library, ...]

    def ways(self, device: ComputeCapability) -> Mapping[Way, int]:
        """How many of the libraries a device runs in which way."""
        ways = [library.way(device) for library in self.libraries]
        return {way: ways.count(way) for way in Way if way in ways}


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """What an environment carries, and what could not be read of it."""

    environment: str
    tool: str | None  # which cuobjdump; None where none was needed
    devices: Mapping[str, Profile]
    carried: Sequence[Carried]
    not_read: Sequence[NotRead]
    files: int  # that were seen, with CUDA code or without

    @property
    def left_out(self) -> tuple[str, ...]:
        """The devices that some library leaves out."""
        return tuple(
            name
            for name, profile in self.devices.items()
            if any(Way.LEFT_OUT in carried.ways(profile.capability) for carried in self.carried)
        )

    @property
    def exit_code(self) -> int:
        """1: a device is left out; else 3: something could not be read; else 0."""
        return 1 if self.left_out else 3 if self.not_read else 0
