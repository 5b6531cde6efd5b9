"""Compiles a recorded CUDA C++ program for an architecture. Runs in a compiling process only."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Status
from pytest_gpumatrix.portability.compiling.cubin import KernelFigures, read_cubin
from pytest_gpumatrix.portability.tape.launch import CudaProgram
from pytest_gpumatrix.portability.tape.values import decode

_ASSEMBLER_ERROR = re.compile(r"^ptxas .*?error\s*: *(\S.*)$", re.MULTILINE)
_ANY_ERROR = re.compile(r"^.*\berror\b.*$", re.MULTILINE)


def compile_cuda(program: CudaProgram, arch: str, started: Callable[[], None]) -> Compiled:
    """Compile to machine code for "sm_86", "sm_90a" and the like; needs no GPU and no driver.

    The assembler itself holds static shared memory against its limit (48 KiB on every architecture).
    """
    core = _cuda_core()
    options = {name: decode(value, _no_functions) for name, value in program.options.items()}
    options |= {"name": program.name, "arch": arch}
    prepared = core.Program(program.source, program.code_type, core.ProgramOptions(**options))
    started()
    try:
        code = prepared.compile("cubin", program.name_expressions).code
    except Exception as error:  # noqa: BLE001 - cuda-core has no public class for the compiler's refusal
        if type(error).__name__ not in ("NVRTCError", "nvJitLinkError"):
            return Compiled(status=Status.UNKNOWN, message=f"not compiled: {type(error).__name__}: {error}"[:300])
        return Compiled(status=Status.REFUSED, message=_sentence(str(error)))
    return Compiled(status=Status.COMPILED, kernels=_figures(code, arch))


def _figures(cubin: object, arch: str) -> dict[str, KernelFigures] | None:
    if not isinstance(cubin, bytes):
        return None
    try:
        return dict(read_cubin(cubin, Binary.parse(arch, ptx=False).capability))
    except ValueError:  # launches of it are unknown then, and say so
        return None


def _cuda_core() -> Any:
    try:
        return importlib.import_module("cuda.core")
    except ImportError:
        return importlib.import_module("cuda.core.experimental")  # where it was before 0.5


def _sentence(log: str) -> str:
    match = _ASSEMBLER_ERROR.search(log)
    if match is not None:
        return match[1].strip()[:300]
    first = _ANY_ERROR.search(log)
    return " ".join((first[0] if first else log).split())[:300]


def _no_functions(_: Any) -> Any:
    raise ValueError("a CUDA program has no functions among its options")
