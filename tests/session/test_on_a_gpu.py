"""What only a GPU shows: real memory, real compilers, real NVML. Skipped where there is no CUDA GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_gpumatrix.hardware.gpu_state import GpuState, read_state
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.results import read_results

TESTS = """
import pytest
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(x + at, tl.load(x + at) * 2)

@pytest.mark.gpu
def test_holds_a_gibibyte():
    x = torch.empty(2**30, dtype=torch.uint8, device="cuda")
    del x

@pytest.mark.gpu
def test_holds_less():
    torch.empty(2**20, dtype=torch.uint8, device="cuda")

@pytest.mark.gpu
def test_compiles_with_triton():
    double[(1,)](torch.ones(64, device="cuda"), 64)

@pytest.mark.gpu
def test_compiles_with_torch():
    torch.compile(lambda x: torch.relu(x.sin() + 1))(torch.ones(64, device="cuda"))

@pytest.mark.gpu
def test_compiles_a_backward():
    x = torch.ones(64, device="cuda", requires_grad=True)
    torch.compile(lambda x: (x.sin() * x).sum())(x).backward()

@pytest.mark.gpu
def test_needs_too_much():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.empty(2 * total, dtype=torch.uint8, device="cuda")
"""
# Last, for it breaks the CUDA context of the process.
BREAKS = """
import pytest
import torch

@pytest.mark.gpu
def test_breaks():
    x = torch.ones(4, device="cuda")
    x[torch.tensor([2**40], device="cuda")].sum().item()

@pytest.mark.gpu
def test_after_it():
    torch.ones(4, device="cuda").sum().item()
"""


@pytest.fixture(autouse=True)
def uuid() -> str:
    """The first GPU's, by NVML: no context is made in this process."""
    pytest.importorskip("torch")
    from pytest_gpumatrix.hardware.detection import detect

    gpus = detect({}).gpus
    if not gpus:
        pytest.skip("no CUDA GPU here")
    return gpus[0].uuid


def recorded(folder: Path, source: str) -> Column:
    (folder / "test_it.py").write_text(source)
    # Caches of their own: only what is compiled anew has a time.
    environment = {"TRITON_CACHE_DIR": str(folder / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    out = folder / "out"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--gpu-matrix",
        f"--gpu-matrix-out={out}",
        "test_it.py",
    ]
    subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=False, timeout=600)
    (column,) = read_results(out).columns  # the journal's first line cannot know what the tests load
    return column


def metrics(cell: Cell) -> dict[str, float]:
    return {metric.name: metric.value for metric in cell.metrics}


def by_name(column: Column) -> Iterator[tuple[str, Cell]]:
    return ((test.partition("::")[2], cell) for test, cell in column.cells.items())


def test_metrics_causes_and_facts(tmp_path: Path, uuid: str) -> None:
    column = recorded(tmp_path, TESTS)
    cells = dict(by_name(column))
    assert metrics(cells["test_holds_a_gibibyte"])["gpu_memory_peak"] >= 2**30
    assert 2**20 <= metrics(cells["test_holds_less"])["gpu_memory_peak"] < 2**30
    assert "compile_time" not in metrics(cells["test_holds_less"])
    for test in ("test_compiles_with_triton", "test_compiles_with_torch", "test_compiles_a_backward"):
        assert cells[test].outcome.value == "passed"
        assert metrics(cells[test])["compile_time"] > 0
    full = cells["test_needs_too_much"]
    assert full.cause is not None
    assert full.cause.category.value == "device_oom"
    assert "GPU at the failure: " in full.details
    facts = column.facts
    assert facts.gpu_uuid == uuid
    for known in (facts.gpu_memory_free_at_start, facts.cuda_driver_version, facts.torch_archs, facts.torch_tf32):
        assert known is not None
    assert {"torch", "torch_cuda", "triton", "ptxas"} <= facts.versions.keys()


def test_what_comes_from_a_cache_has_no_time(tmp_path: Path) -> None:
    recorded(tmp_path, TESTS)
    warm = dict(by_name(recorded(tmp_path, TESTS)))
    for test in ("test_compiles_with_triton", "test_compiles_with_torch", "test_compiles_a_backward"):
        assert "compile_time" not in metrics(warm[test]), test


def test_a_broken_context(tmp_path: Path) -> None:
    cells = dict(by_name(recorded(tmp_path, BREAKS)))
    first, second = cells["test_breaks"].cause, cells["test_after_it"].cause
    assert first is not None
    assert second is not None
    assert first.category.value == "sticky_crash"
    assert first.reason != "cascade"
    assert (second.category.value, second.reason) == ("sticky_crash", "cascade")


def test_nvml_tells_what_a_process_holds(uuid: str) -> None:
    before = read_state(uuid)
    code = "import torch; x = torch.empty(2**30, dtype=torch.uint8, device='cuda'); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        during = read_state(uuid)
        holder.stdin.write(b"\n")
        holder.stdin.flush()
    assert isinstance(before, GpuState)
    assert isinstance(during, GpuState)
    assert before.used is not None
    assert during.used is not None
    assert before.free - during.free >= 2**30
    assert during.used - before.used >= 2**30
