"""Jobs as a tape of anybody may ask for them, and what comes of them in a compiling process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job
from pytest_gpumatrix.portability.compiling.compiling_process import CompilingProcess, compiling_environment
from pytest_gpumatrix.portability.tape.launch import CudaProgram, TritonKernel
from pytest_gpumatrix.portability.tape.values import encode


def do(folder: Path, *kernels: TritonKernel | CudaProgram) -> list[Compiled]:
    """Each as it is done in a compiling process."""
    own = {**compiling_environment(os.environ), "TRITON_CACHE_DIR": str(folder / "cache")}
    process = CompilingProcess(folder, sys.path, own)
    try:
        return [process.ask(Job(kernel=kernel, arch="sm_86")) for kernel in kernels]
    finally:
        process.stop()
        process.close()


SOURCE = 'extern "C" __global__ void k(float *x) { x[0] = VALUE; }\n'


def program(source: str, options: Mapping[str, Any], name: str = "p", **fields: Any) -> CudaProgram:
    encoded = {name: encode(value, lambda _: pytest.fail("a function")) for name, value in options.items()}
    return CudaProgram(
        name=name,
        source=source,
        code_type="c++",
        target_type="cubin",
        arch="",
        follows_device=True,
        options=encoded,
        **fields,
    )
