"""The figures of a kernel, from the assembler's report and the disassembler's listing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.compiling import machine_code
from pytest_gpumatrix.portability.compiling.assembler_report import LocalMemory, read_report
from pytest_gpumatrix.portability.compiling.compile_cuda import compile_cuda
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures, TensorPath
from pytest_gpumatrix.portability.compiling.machine_code import NOTHING_OF_NOTE, HowItWorks, how_they_work, read_listing
from pytest_gpumatrix.portability.compiling.read_figures import read_figures
from pytest_gpumatrix.portability.tape.launch import CudaProgram

REPORT = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_86'
ptxas info    : Function properties for first
ptxas         .     656 bytes stack frame, 676 bytes spill stores, 660 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 656 bytes cumulative stack size, 600 bytes cmem[0]
ptxas-blackwell info    : Compiling entry function '_Z6secondPf' for 'sm_120a'
ptxas-blackwell info    : Function properties for _Z6secondPf
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas-blackwell info    : Function properties for called
    16 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas-blackwell info    : Used 8 registers, used 0 barriers
info    : Function properties for 'first':
info    : used 8 registers, used 5 barriers, 0 stack, 0 bytes smem, 560 bytes cmem[0], 0 bytes lmem
"""


def test_a_report_of_the_assembler() -> None:
    assert read_report(REPORT) == {
        "first": LocalMemory(stack=656, spill_stores=676, spill_loads=660),
        "_Z6secondPf": LocalMemory(stack=24, spill_stores=4, spill_loads=12),
    }
    assert read_report("ptxas info    : Compiling entry function 'cut' for 'sm_86'\n") == {}
    assert read_report("printed by the kernel's own module") == {}


@given(st.text(max_size=300))
def test_whatever_is_printed_is_no_error(text: str) -> None:
    read_report(text)
    read_listing(text)


def listing(*instructions: str, name: str = "k") -> str:
    lines = (f"        /*{place * 16:04x}*/                   {text} ;" for place, text in enumerate(instructions))
    return f"//--------------------- .text.{name}  --------------------------\n{name}:\n.text.{name}:\n" + "\n".join(
        lines
    )


@pytest.mark.parametrize(
    ("instruction", "works"),
    [
        ("HMMA.16816.F32.BF16 R4, R8, R12, R4", {"tensor_path": TensorPath.MMA}),
        ("IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4", {"tensor_path": TensorPath.MMA}),
        ("DMMA.884 R4, R8, R12, R4", {"tensor_path": TensorPath.MMA}),
        ("QMMA.16832.F32.E4M3.E4M3 R4, R8, R12, R4", {"tensor_path": TensorPath.MMA}),
        ("HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24", {"tensor_path": TensorPath.WGMMA}),
        ("QGMMA.64x128x32.F32.E4M3.E4M3 R24, gdesc[UR4], R24", {"tensor_path": TensorPath.WGMMA}),
        ("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11]", {"tensor_path": TensorPath.TCGEN05}),
        ("HFMA2.MMA R7, -RZ, RZ, 1.875, 0", {}),  # half precision on the units beside the tensor cores
        ("UTCBAR [UR4], URZ", {}),
        ("LDGSTS.E.BYPASS.128 [R7], [R2.64]", {"async_copies": 1}),
        ("UTMALDG.2D [UR8], [UR4]", {"bulk_copies": 1}),
        ("UBLKCP.S.G [UR8], [UR4], UR6", {"bulk_copies": 1}),
        ("UTMASTG.2D [UR8], [UR4]", {}),
        ("UBLKCP.G.S [UR8], [UR4], UR6", {}),
        ("ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R4, [R2], R5", {"atomics": 1}),
        ("@!P0 RED.E.MAX.S32.STRONG.GPU [UR4], R2", {"atomics": 1}),
        ("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R7", {"atomics": 1}),
        ("@UP0 UTMAREDG.2D.ADD [UR8], [UR4]", {"atomics": 1}),
        ("ATOM.E.ADD.BF16x2.RN.STRONG.GPU P0, R4, [R2], R5", {"atomics": 1}),
        ("ATOMG.E.CAS.STRONG.GPU PT, R4, [R2], R5, R4", {"compare_and_swaps": 1}),
        ("ATOM.E.CAS.64.STRONG.GPU PT, R4, [R2], R5, R4", {"compare_and_swaps": 1}),
        ("ATOMS.CAST.SPIN R4, [R2], R5, R4", {}),  # shared memory
        ("REDUX.MAX.S32 UR5, R0", {}),
        ("STL [R1], R4", {}),
    ],
)
def test_an_instruction(instruction: str, works: dict[str, object]) -> None:
    expected = HowItWorks(**works)  # type: ignore[arg-type]
    assert read_listing(listing(instruction, "EXIT")) == {"k": expected}


def test_each_kernel_of_a_listing_is_counted_for_itself() -> None:
    text = listing("LDGSTS.E [R7], [R2.64]", "LDGSTS.E [R7], [R2.64]", "HMMA.16816.F32 R4, R8, R12, R4", name="_Z1aPf")
    found = read_listing(
        text + "\n\n" + listing("HMMA.16816.F32 R4, R8, R12, R4", "HGMMA.64x8x16.F32 R24, R24", name="b")
    )
    assert found == {
        "_Z1aPf": HowItWorks(tensor_path=TensorPath.MMA, async_copies=2),
        "b": HowItWorks(tensor_path=TensorPath.WGMMA),
    }


@pytest.mark.parametrize(
    ("ptx", "looked"),
    [
        (".visible .entry k() { ld.global.b32 %r1, [%rd1]; ret; }", False),
        (".visible .entry atom_k(.param .u32 red_param_0) { ret; }", False),
        ("@%p1 atom.global.add.f32 %f1, [%rd1], %f2;", True),
        ("red.global.add.f32 [%rd1], %f2;", True),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16;", True),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {...};", True),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {...};", True),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;", True),
        (None, True),
    ],
)
def test_the_disassembler_is_asked_where_the_ptx_has_a_reason(
    ptx: str | None, looked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def disassemblers() -> Iterator[Path]:
        asked.append(ptx)
        return iter(())

    monkeypatch.setattr(machine_code, "disassemblers", disassemblers)
    found = how_they_work(b"", ptx, ["k"])
    assert bool(asked) is looked
    assert found == ({} if looked else {"k": NOTHING_OF_NOTE})


def test_a_disassembler_that_fails_gives_way_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, missing, failing = tmp_path / "good", tmp_path / "missing", tmp_path / "failing"
    good.write_text("#!/bin/sh\ncat <<'END'\n" + listing("LDGSTS.E [R7], [R2.64]") + "\nEND\n")
    failing.write_text("#!/bin/sh\necho too new >&2\nexit 1\n")
    for tool in (good, failing):
        tool.chmod(0o755)
    monkeypatch.setattr(machine_code, "disassemblers", lambda: iter((missing, failing, good)))
    assert how_they_work(b"", None, ["k"]) == {"k": HowItWorks(async_copies=1)}
    monkeypatch.setattr(machine_code, "disassemblers", lambda: iter((missing, failing)))
    assert how_they_work(b"", None, ["k"]) == {}


SOURCE = """
extern "C" __global__ void adds(float *x) { atomicAdd(x, 1.0f); }
extern "C" __global__ void __launch_bounds__(1024, 2) spills(float *x, int n) {
    float a[64];
    #pragma unroll
    for (int i = 0; i < 64; i++) a[i] = x[i * n];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 64; i++) x[i * n] = a[63 - i] * a[(i * 7) % 64] + a[i];
}
"""
PROGRAM = CudaProgram(
    name="k", source=SOURCE, code_type="c++", target_type="cubin", arch="sm_90", follows_device=True, options={}
)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_120"])
def test_the_figures_of_a_program(arch: str) -> None:
    pytest.importorskip("cuda.core")
    pytest.importorskip("triton")  # its disassembler
    found = compile_cuda(PROGRAM, arch, Path(), lambda: None).kernels
    assert found is not None
    assert (found["adds"].atomics, found["adds"].compare_and_swaps, found["adds"].spill_stores) == (1, 0, 0)
    assert (found["spills"].atomics, found["spills"].tensor_path) == (0, TensorPath.NONE)
    assert found["spills"].spill_stores
    assert found["spills"].spill_loads
    assert found["spills"].stack


def test_without_a_disassembler_counts_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cuda.core")
    monkeypatch.setattr(machine_code, "disassemblers", lambda: iter(()))
    found = (compile_cuda(PROGRAM, "sm_86", Path(), lambda: None).kernels or {})["adds"]
    assert found == KernelFigures(
        static_shared_memory=0, registers=found.registers, stack=0, spill_stores=0, spill_loads=0
    )


@pytest.mark.parametrize("code", [None, "text", b"", b"\x7fELF\x02\x01"])
def test_what_is_no_cubin_has_no_figures(code: object) -> None:
    assert read_figures(code, ComputeCapability(9, 0), "", "") is None


def test_the_package_is_asked_before_tritons_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia" / "cu13" / "bin" / "nvdisasm"
    tool.parent.mkdir(parents=True)
    tool.touch(mode=0o755)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", str(tool.parent))
    found = list(machine_code.disassemblers())
    assert found[-1] == tool  # on the PATH
    assert tool in found[:-1]
