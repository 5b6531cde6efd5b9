"""The architectures that libraries carry code for, by the compilers' names."""

from __future__ import annotations

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.target import Target


def binary_of(arch: str, *, ptx: bool) -> Binary:
    """Code for "sm_90a" and the like. ValueError for an architecture of which nothing is known here."""
    try:
        binary = Binary.parse(arch, ptx=ptx)
        if binary.suffix:
            Target.parse(binary.sm)
    except ValueError as error:
        raise ValueError(f"it carries code for an architecture that is not known here: {error}") from error
    return binary
