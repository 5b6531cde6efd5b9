"""The memory of a device that a larger card poses as. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# What a CUDA context takes of a GPU's memory. Measured on an H200 with PyTorch 2.11: about 0.5 GiB for a process.
CONTEXT = 512 * 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryBudget:
    """How much of the card PyTorch's allocator may take. All sizes in bytes."""

    device: int  # the posed device's memory
    card: int  # the memory of the card that is here

    @property
    def allowed(self) -> int:
        """What the device would have left for tensors."""
        return max(0, self.device - CONTEXT)

    @property
    def fraction(self) -> float:
        """The same as a fraction of the card, as ``set_per_process_memory_fraction`` takes it."""
        return min(1.0, self.allowed / self.card)

    def fraction_of_card(self, of_device: float) -> float:
        """A fraction of the device's memory, 0 to 1, as one of the card's; never more than the device has."""
        return min(self.fraction, of_device * self.device / self.card)

    def free(self, free_on_card: int, reserved: int) -> int:
        """What ``cudaMemGetInfo`` would call free, where the allocator holds ``reserved``."""
        return min(free_on_card, max(0, self.allowed - reserved))
