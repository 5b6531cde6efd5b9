"""The GPU that tests run on, and the one that it poses as: which of them an architecture names."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.capability import ComputeCapability


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningGpu:
    """``capability`` is the card's own, None where there is none; ``posed`` is what the code under test is told."""

    capability: ComputeCapability | None
    posed: ComputeCapability | None = None

    @property
    def told(self) -> ComputeCapability | None:
        """What code learns that asks which GPU is here."""
        return self.posed or self.capability

    def is_named_by(self, arch: str) -> bool:
        """Whether it is how a program would write this GPU's architecture, as it is told: "sm_90" or "compute_90"."""
        binary = _parsed(arch)
        return binary is not None and binary.capability == self.told and not binary.suffix

    def arch_to_load(self, arch: str) -> str:
        """What to compile for, so that it loads here: the card's own, where ``arch`` suits the posed GPU alone.

        What the posed GPU would refuse as well is left as it is.
        """
        binary = _parsed(arch)
        if binary is None or self.posed is None or self.capability is None:
            return arch
        if binary.refusal(self.posed) is not None or binary.refusal(self.capability) is None:
            return arch
        return f"{arch.partition('_')[0]}_{self.capability.major}{self.capability.minor}"


def _parsed(arch: str) -> Binary | None:
    try:
        return Binary.parse(arch, ptx=False)
    except ValueError:
        return None
