"""Whose fault it is that a compiler refuses: the kernel's, or the machine's that compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.portability.compiling.compile_cuda import compile_cuda
from pytest_gpumatrix.portability.compiling.compile_job import Status
from pytest_gpumatrix.portability.compiling.refusals import fault_of_this_machine
from pytest_gpumatrix.portability.tape.launch import CudaProgram

NEWER = "the compiler installed here does not build for {}: a newer one may"
OLDER = "the compiler installed here does not build for {}: one of CUDA 12 does (pip install 'cuda-core[cu12]')"


@pytest.mark.parametrize(
    ("arch", "said", "fault"),
    [
        ("sm_70", "nvrtc: error: invalid value for --gpu-architecture (-arch)\n", OLDER.format("sm_70")),
        ("sm_130", "nvrtc: error: invalid value for --gpu-architecture (-arch)\n", NEWER.format("sm_130")),
        (
            "sm_130",
            "ptxas-blackwell fatal   : Value 'sm_130a' is not defined for option 'gpu-name'\n",
            NEWER.format("sm_130"),
        ),
        ("sm_130", "nvJitLinkError ERROR_UNRECOGNIZED_ARCH (16)", NEWER.format("sm_130")),
        (
            "sm_130",
            "'sm_130a' is not a recognized processor for this target (ignoring processor)\nLLVM ERROR: Cannot select",
            NEWER.format("sm_130"),
        ),
        (
            "sm_86",
            'k(1): catastrophic error: could not open source file "mine.h" (no directories in search list)',
            "mine.h is not found here: install what it belongs to, or run this where it is installed",
        ),
        (
            "sm_86",
            'k(1): catastrophic error: cannot open source file "mine.h"',
            "mine.h is not found here: install what it belongs to, or run this where it is installed",
        ),
        (
            "sm_90a",
            "ptxas application ptx input, line 5; fatal   : Unsupported .version 9.9; current version is '9.5'",
            "it is PTX 9.9, and the assembler installed here reads up to 9.5: install a newer one",
        ),
        (
            "sm_86",
            "[Errno 28] No space left on device: '/tmp/x.ptx'",
            "this machine failed the compiler: No space left on device",
        ),
        ("sm_86", "LLVM ERROR: out of memory", "this machine failed the compiler: out of memory"),
        (
            "sm_86",
            "terminate called after throwing an instance of 'std::bad_alloc'",
            "this machine failed the compiler: bad_alloc",
        ),
        (
            "sm_86",
            "ptxas fatal   : Memory allocation failure",
            "this machine failed the compiler: Memory allocation failure",
        ),
        (
            "sm_86",
            "`ptxas` failed with error code -9\n`ptxas` stderr:\n",
            "the assembler was ended from outside (code -9)",
        ),
        ("sm_86", "Feature 'cvt.e5m2x2.f32' requires .target sm_89 or higher", None),
        ("sm_86", "`ptxas` failed with error code -11", None),  # it crashed
        ("sm_86", "Entry function 'kernel' uses too much shared data (0x13880 bytes, 0xc000 max)", None),
        ("sm_90", "PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'", None),
        ("sm_86", "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.setmaxnreg.inc.sync.aligned.u32", None),
    ],
)
def test_whose_fault(arch: str, said: str, fault: str | None) -> None:
    assert fault_of_this_machine(said, arch) == fault


PTX = """.version {}
.target {}
.address_size 64
.visible .entry kernel() {{ ret; }}
"""


def program(source: str, **fields: object) -> CudaProgram:
    given = {"code_type": "c++", "target_type": "cubin", "arch": "sm_86", "follows_device": True, "options": {}}
    return CudaProgram(name="k", source=source, **{**given, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "arch", "fields", "status", "message"),
    [
        ("#include <mine.h>\n", "sm_86", {}, Status.UNKNOWN, "not compiled: mine.h is not found here"),
        ("", "sm_70", {}, Status.UNKNOWN, "not compiled: the compiler installed here does not build for sm_70: one of"),
        ("", "sm_199", {}, Status.UNKNOWN, "not compiled: the compiler installed here does not build for sm_199: a"),
        (
            "",
            "sm_86",
            {"options": {"std": "c++99"}},
            Status.UNKNOWN,
            "not compiled: NVRTCError: 5: NVRTC_ERROR_INVALID",
        ),
        ("__global__ void k() { x = 1; }", "sm_86", {}, Status.REFUSED, 'k(1): error: identifier "x" is undefined'),
        (
            PTX.format("99.0", "sm_86"),
            "sm_86",
            {"code_type": "ptx"},
            Status.UNKNOWN,
            "not compiled: it is PTX 99.0, and",
        ),
        (PTX.format("8.0", "sm_86"), "sm_199", {"code_type": "ptx"}, Status.UNKNOWN, "not compiled: the compiler inst"),
        (
            PTX.format("8.0", "sm_90a"),
            "sm_90",
            {"code_type": "ptx"},
            Status.REFUSED,
            "PTX with .target 'sm_90a' cannot",
        ),
        (PTX.format("8.0", "sm_90"), "sm_86", {"code_type": "ptx"}, Status.REFUSED, "SM version specified by .target"),
        (PTX.format("8.0", "sm_80"), "sm_86", {"code_type": "ptx"}, Status.COMPILED, ""),
    ],
)
def test_what_nvidias_compilers_say(
    source: str, arch: str, fields: dict[str, object], status: Status, message: str
) -> None:
    pytest.importorskip("cuda.core")
    found = compile_cuda(program(source, **fields), arch, Path(), lambda: None)
    assert (found.status, found.message[: len(message)]) == (status, message)
    assert bool(found.message) == bool(message)
