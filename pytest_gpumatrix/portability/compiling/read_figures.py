"""All that is known of the kernels of a cubin, from the three who know."""

from __future__ import annotations

import dataclasses

import msgspec

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.compiling.assembler_report import read_report
from pytest_gpumatrix.portability.compiling.cubin import read_cubin
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.compiling.machine_code import how_they_work


def read_figures(
    cubin: object, capability: ComputeCapability, report: str, ptx: str | None
) -> dict[str, KernelFigures] | None:
    """The kernels by their (mangled) names; None if it is not a cubin that can be read: launches are unknown then.

    ``report`` is the assembler's, and ``ptx`` what it was given; what they do not tell is None in the figures.
    """
    if not isinstance(cubin, bytes):
        return None
    try:
        kernels = read_cubin(cubin, capability)
    except ValueError:
        return None
    memory, works = read_report(report), how_they_work(cubin, ptx, kernels)
    return {
        name: msgspec.structs.replace(
            figures,
            **(dataclasses.asdict(memory[name]) if name in memory else {}),
            **(dataclasses.asdict(works[name]) if name in works else {}),
        )
        for name, figures in kernels.items()
    }
