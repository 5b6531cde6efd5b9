"""Kernels, and what a compiler may have made of them, without compiling."""

from __future__ import annotations

from typing import Any

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Status
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, FunctionReference, TritonKernel

KNOWN = catalogue.load().profiles
RTX_3090 = catalogue.load().resolve("rtx-3090")
KERNEL = TritonKernel(
    function=FunctionReference(module="m", qualname="f", file="m.py", line=1, source_hash="0"),
    signature={},
    constants=(),
    attributes=(),
    options={},
)
FITS = Judgement(fit=Fit.FITS)
FAILS = Judgement(fit=Fit.FAILS, reason="too large", tuner_survives=True)
SLOW = Judgement(fit=Fit.SLOW, reason="spills 4 B")
FATAL = Judgement(fit=Fit.FAILS, reason="no such type")
UNKNOWN = Judgement(fit=Fit.UNKNOWN, reason="not known")


def program(**fields: Any) -> CudaProgram:
    given = {"arch": "sm_90", "target_type": "cubin", "follows_device": False, "code_type": "c++", "options": {}}
    return CudaProgram(name="k", source="", **{**given, **fields})


def launched(**shape: Any) -> CudaLaunch:
    given = {"kernel": "k", "block": (128, 1, 1), "grid": (1, 1, 1), "dynamic_shared_memory": 0}
    return CudaLaunch(**{**given, **shape})


def compiled(**figures: Any) -> Compiled:
    return Compiled(status=Status.COMPILED, **figures)


def figures(**numbers: Any) -> KernelFigures:
    return KernelFigures(**{"static_shared_memory": 0, "registers": 32, "spill_stores": 0, **numbers})


def of_triton(numbers: dict[str, Any] | None = None, **fields: Any) -> Compiled:
    return compiled(**{"shared_memory": 0, "threads": 128, "kernels": {"f": figures(**(numbers or {}))}, **fields})
