"""The small libraries of tests/data/binaries, and what they carry."""

from __future__ import annotations

from pathlib import Path

from pytest_gpumatrix.hardware.binary import Binary

SAMPLES = Path(__file__).parents[2] / "data" / "binaries"
# As cuobjdump lists them: of machine code for a family it shows the architecture alone.
CARRIED = {
    "library.so": "sm_80 sm_90a compute_90",
    "two.so": "sm_80 sm_80 sm_90a compute_90",
    "hopper.so": "sm_90a",
    "relocatable.so": "sm_80 compute_90",
    "add.cubin": "sm_86",
    "add.fatbin": "sm_75 compute_90a",
    "family.fatbin": "sm_100 compute_100f",
}


def counted(text: str) -> dict[Binary, int]:
    """How many of each: "sm_80 sm_80 compute_90"."""
    names = text.split()
    return {Binary.parse(name, ptx=name.startswith("compute_")): names.count(name) for name in names}
