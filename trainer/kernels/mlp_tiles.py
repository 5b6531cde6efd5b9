"""How the MLP's matrix products are cut, per compute capability: data, so that it can be read without Triton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from trainer.kernels.registry import Capability


@dataclass(frozen=True, kw_only=True, slots=True)
class Tiles:
    """How a product is cut. ``k`` counts elements of 2 bytes; float32 gets half of it, so the bytes are equal."""

    m: int
    n: int
    k: int
    stages: int
    warps: int


# What must fit: (m + n) * k * 2 bytes for each stage that is buffered, in the shared memory that a block may opt in
# to. Triton buffers one stage less than asked for on 8.x and 12.x.
_OPT_IN_99_KIB = Tiles(m=128, n=128, k=64, stages=3, warps=8)  # 2 x 32 KiB
TILES: Mapping[Capability, Tiles] = MappingProxyType(
    {
        (8, 0): Tiles(m=128, n=128, k=64, stages=4, warps=8),  # 3 x 32 KiB of 163
        (8, 6): _OPT_IN_99_KIB,
        (8, 9): _OPT_IN_99_KIB,
        (9, 0): Tiles(m=128, n=256, k=64, stages=4, warps=8),  # 4 x 48 KiB of 227
        (10, 0): Tiles(m=128, n=256, k=64, stages=4, warps=8),  # never run; 227 KiB as well
        (12, 0): _OPT_IN_99_KIB,
    }
)
ANYWHERE = _OPT_IN_99_KIB  # for a capability that is not listed, and for the interpreter


def tiles_for(capability: Capability | None) -> Tiles:
    """The tiles of this capability: its own, else those that fit in the least shared memory of 8.0 and later."""
    return ANYWHERE if capability is None else TILES.get(capability, ANYWHERE)
