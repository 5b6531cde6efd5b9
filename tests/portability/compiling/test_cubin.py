"""What is read from a cubin, held against NVIDIA's own reader."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.portability.compiling.compile_cuda import compile_cuda
from pytest_gpumatrix.portability.compiling.cubin import read_cubin
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures, TensorPath
from pytest_gpumatrix.portability.tape.launch import CudaProgram

SOURCE = """
extern "C" __global__ void __launch_bounds__(128) bounded(float *x) {
    __shared__ float s[10240];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[127 - threadIdx.x];
}
extern "C" __global__ void small(float *x) {
    __shared__ float s[4];
    s[threadIdx.x & 3] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[3 - (threadIdx.x & 3)];
}
extern "C" __global__ void dynamic(float *x) {
    extern __shared__ float d[];
    d[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = d[127 - threadIdx.x];
}
template <int N> __global__ void free(float *x) { x[0] = N; }
"""
STATIC = 4 * 10240


def cubin(arch: str) -> bytes:
    core = pytest.importorskip("cuda.core")
    program = core.Program(SOURCE, "c++", core.ProgramOptions(arch=arch))
    code = program.compile("cubin", ("free<3>",)).code
    assert isinstance(code, bytes)
    return code


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_120"])
def test_the_figures_are_those_of_cuobjdump(arch: str, tmp_path: Path) -> None:
    triton = pytest.importorskip("triton")
    content = cubin(arch)
    figures = read_cubin(content, Binary.parse(arch, ptx=False).capability)
    file = tmp_path / "code.cubin"
    file.write_bytes(content)
    reader = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    told = subprocess.run([reader, "-res-usage", file], capture_output=True, text=True, check=True).stdout
    theirs = {
        match[1]: (int(match[2]), int(match[3]))
        for match in re.finditer(r"Function (\w+):\s+REG:(\d+) .*SHARED:(\d+)", told)
    }
    reserved = 1024 if Binary.parse(arch, ptx=False).capability.major >= 9 else 0
    # Where a kernel has any shared memory theirs counts what is reserved.
    assert {name: (found.registers, found.static_shared_memory) for name, found in figures.items()} == {
        name: (registers, max(0, shared - reserved)) for name, (registers, shared) in theirs.items()
    }
    assert {name: (found.static_shared_memory, found.max_threads) for name, found in figures.items()} == {
        "bounded": (STATIC, 128),
        "small": (16, None),
        "dynamic": (0, None),
        "_Z4freeILi3EEvPf": (0, None),
    }


def test_a_compiled_program_has_them() -> None:
    pytest.importorskip("cuda.core")
    program = CudaProgram(
        name="k",
        source=SOURCE,
        code_type="c++",
        target_type="cubin",
        arch="sm_86",
        follows_device=True,
        options={},
    )
    found = compile_cuda(program, "sm_86", Path(), lambda: None).kernels
    assert found is not None
    assert found["bounded"] == KernelFigures(
        static_shared_memory=STATIC,
        registers=found["bounded"].registers,
        barriers=1,
        max_threads=128,
        stack=0,
        spill_stores=0,
        spill_loads=0,
        tensor_path=TensorPath.NONE,
        async_copies=0,
        bulk_copies=0,
        atomics=0,
        compare_and_swaps=0,
    )


CLUSTERS = """
extern "C" __global__ void __cluster_dims__(2, 2, 1) fixed(float *x) { x[0] = 1; }
extern "C" __global__ void __launch_bounds__(128, 2, 4) most(float *x) { x[0] = 1; }
extern "C" __global__ void __cluster_dims__() some(float *x) { x[0] = 1; }
extern "C" __global__ void __block_size__((64, 2, 1)) shaped(float *x) { x[0] = 1; }
extern "C" __global__ void __block_size__((64, 2, 1), (2, 1, 1)) counted(float *x) { x[0] = 1; }
extern "C" __global__ void waiting(float *x) { __syncthreads(); asm volatile("bar.sync 9, 64;"); x[0] = 1; }
"""
NOTHING: dict[str, object] = {
    "barriers": 0,
    "max_threads": None,
    "required_block": None,
    "cluster": None,
    "needs_cluster": False,
    "max_cluster": None,
    "blocks_are_clusters": False,
}


@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
def test_what_the_code_says_of_its_launch(arch: str) -> None:
    core = pytest.importorskip("cuda.core")
    code = core.Program(CLUSTERS, "c++", core.ProgramOptions(arch=arch)).compile("cubin").code
    found = read_cubin(code, Binary.parse(arch, ptx=False).capability)
    shape = {"required_block": (64, 2, 1), "blocks_are_clusters": True}
    assert {name: {field: getattr(kernel, field) for field in NOTHING} for name, kernel in found.items()} == {
        "fixed": {**NOTHING, "cluster": (2, 2, 1), "needs_cluster": True},
        "most": {**NOTHING, "max_threads": 128, "max_cluster": 4},
        "some": {**NOTHING, "needs_cluster": True},
        "shaped": {**NOTHING, **shape, "cluster": (1, 1, 1)},
        "counted": {**NOTHING, **shape, "cluster": (2, 1, 1)},
        "waiting": {**NOTHING, "barriers": 10},
    }


@given(st.binary(max_size=200), st.booleans())
def test_what_is_no_cubin_is_a_value_error(content: bytes, elf: bool) -> None:
    with pytest.raises(ValueError, match="not a cubin"):
        read_cubin(b"\x7fELF\x02\x01" * elf + content, Binary.parse("sm_90", ptx=False).capability)


@pytest.mark.parametrize("length", [64, 300, 1000])
def test_a_cubin_that_is_cut_off_is_a_value_error(length: int) -> None:
    with pytest.raises(ValueError, match="not a cubin"):
        read_cubin(cubin("sm_90")[:length], Binary.parse("sm_90", ptx=False).capability)
