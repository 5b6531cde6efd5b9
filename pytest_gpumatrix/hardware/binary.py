"""Which devices run what was compiled for one architecture."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.target import Target

_SPELLING = re.compile(r"(?:sm|compute)_(\d{1,2})(\d)([af]?)")
# Systems on a chip run no machine code of the discrete cards of their major version, nor these theirs. Source: CUDA
# Programming Guide, "Binary Compatibility"; the capabilities: https://developer.nvidia.com/cuda-gpus (Jetson).
_ON_CHIP = frozenset({ComputeCapability(7, 2), ComputeCapability(8, 7), ComputeCapability(11, 0)})


@dataclass(frozen=True, kw_only=True, slots=True)
class Binary:
    """Code for one architecture: machine code (a cubin), or PTX that the driver translates when it is loaded."""

    capability: ComputeCapability
    suffix: str  # "a": for this architecture alone; "f": for its family; "": for later ones too
    ptx: bool

    @classmethod
    def parse(cls, arch: str, *, ptx: bool) -> Binary:
        """Read "sm_90a" or "compute_90"; ValueError for any other text."""
        match = _SPELLING.fullmatch(arch)
        if match is None:
            raise ValueError(f"not an architecture: {arch!r} (write 'sm_90' or 'compute_90')")
        return cls(capability=ComputeCapability(int(match[1]), int(match[2])), suffix=match[3], ptx=ptx)

    @property
    def sm(self) -> str:
        """The compiler's name of the machine code: "sm_90a"."""
        return f"{self.capability.sm}{self.suffix}"

    def refusal(self, device: ComputeCapability) -> str | None:
        """Why a device cannot load it, or None.

        Machine code runs on its own major version from its minor version on, PTX on every later capability, code
        for an "a" or "f" target on that target's devices. Source: CUDA Programming Guide, "Binary Compatibility",
        "PTX Compatibility" and "Family-Specific Features".
        """
        if self._runs_on(device):
            return None
        kind = f"PTX of compute_{self.sm.removeprefix('sm_')}" if self.ptx else f"built for {self.sm}"
        return f"no kernel image for {device}: {kind} only"

    def _runs_on(self, device: ComputeCapability) -> bool:
        if self.suffix:
            return device in Target.parse(self.sm).capabilities
        if self.ptx:
            return device >= self.capability
        if device in _ON_CHIP or self.capability in _ON_CHIP:
            return device == self.capability
        return device.major == self.capability.major and device.minor >= self.capability.minor
