"""The architectures that libraries carry code for, by the compilers' names."""

from __future__ import annotations

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.target import Target

# All that there were, for libraries keep old ones. Source: PTX ISA 9.0, "PTX Module Directives: .target", and for 2.1,
# of which there is machine code alone, the processors of LLVM's NVPTX.td.
_KNOWN = frozenset(
    {10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90}
    | {100, 101, 103, 110, 120, 121}
)


def binary_of(arch: str, *, ptx: bool) -> Binary:
    """Code for "sm_90a" and the like. ValueError for an architecture of which nothing is known here."""
    try:
        binary = Binary.parse(arch, ptx=ptx)
        if 10 * binary.capability.major + binary.capability.minor not in _KNOWN:
            raise ValueError(f"there is no {binary.capability.sm}")
        if binary.suffix:
            Target.parse(binary.sm)
    except ValueError as error:
        raise ValueError(f"it carries code for an architecture that is not known here: {error}") from error
    return binary
