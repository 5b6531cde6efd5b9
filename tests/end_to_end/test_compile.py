"""From a run on a CPU to what its kernels would do elsewhere: at the end of the run, and by ``gpumatrix compile``."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.project import Project

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def product(a, b, out, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        left = tl.load(a + rows[:, None] * K + start + rows[None, :])
        right = tl.load(b + (start + rows)[:, None] * BLOCK + rows[None, :])
        total += tl.dot(left, right)
    tl.store(out + rows[:, None] * BLOCK + rows[None, :], total)
"""
TESTS = """
import pytest
import torch
from kernels import product

@pytest.mark.gpu(interpret=True)
def test_product(gpu):
    a, b = torch.ones(64, 256, dtype=torch.float16), torch.ones(256, 64, dtype=torch.float16)
    out = torch.empty(64, 64)
    product[(1,)](a, b, out, 256, BLOCK=64, num_warps=4, num_stages=3)
    assert (out == 256).all()
"""
MATRIX = """
version: 1
devices:
  t4: {profile: t4, require: compiled}
  h100: {profile: h100-sxm, require: compiled}
fail-on: [regression, missing-device]
"""


@pytest.fixture
def ran(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run on a machine without a GPU that is green, and whose kernel would be slow on the T4."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None:
        pytest.skip("needs torch and triton, in the process that the run is")
    project.monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "compiled"))
    project.matrix(MATRIX).tests(TESTS)
    (project.path / "kernels.py").write_text(KERNEL)
    result = project.recorded("-o", "gpu_interpret=true", "-o", "pythonpath=.")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(
        ["*✓ passed  ⚙ compiled  ↓ slow there", "Slow:", "product: *no tensor cores", "  on t4 (1 test)"]
    )
    return project


def test_what_is_slow_elsewhere_is_in_the_run_its_files_and_the_report(ran: Project) -> None:
    [slow, fits] = (ran.cells(device)["test_product"] for device in ("t4", "h100"))
    assert (slow.outcome.value, fits.outcome.value) == ("compiled", "compiled")
    assert "asynchronous copies" in slow.slow[0]
    assert fits.slow == ()
    code, report = ran.report("out")
    assert code == 0
    [row] = report["slow"]
    assert row["devices"] == {"t4": ["test_it.py::test_product"]}


def test_the_tape_is_judged_again_also_beside_a_copy_of_the_sources(
    ran: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("elsewhere")
    for name in ("kernels.py", "test_it.py"):
        shutil.copy(ran.path / name, copy)
    tape = ran.path / "out" / "launches.tape.jsonl"
    assert verdicts(ran, tape, "--devices", "t4,8.6,h100") == (0, {"t4": "slow", "8.6": "fits", "h100": "fits"})
    assert verdicts(ran, tape) == (0, {"t4": "slow", "h100": "fits"})
    assert verdicts(ran, tape, "--rootdir", str(copy)) == (0, {"t4": "slow", "h100": "fits"})
    (copy / "kernels.py").write_text(KERNEL.replace("total += ", "total -= "))
    # By the run and the first commands, all that the tape holds is in the cache.
    assert verdicts(ran, tape, "--rootdir", str(copy)) == (3, {"t4": "unknown", "h100": "unknown"})
    (copy / "kernels.py").unlink()
    assert verdicts(ran, tape, "--rootdir", str(copy)) == (3, {"t4": "unknown", "h100": "unknown"})
    shutil.copy(ran.path / "kernels.py", copy)
    assert verdicts(ran, tape, "--rootdir", str(copy)) == (0, {"t4": "slow", "h100": "fits"})


def verdicts(project: Project, tape: Path, *arguments: str) -> tuple[int, dict[str, str]]:
    output = project.path / "kernels.json"
    home = f"HOME={project.path.parent}"  # pytester's is the project, and no tape may choose a home folder
    command = ["env", home, sys.executable, "-m", "pytest_gpumatrix", "compile", str(tape), "--format", "json"]
    result = project.pytester.run(*command, "--output", output, *arguments)
    [kernel] = json.loads(output.read_text())["kernels"]
    return int(result.ret), {name: found["verdict"] for name, found in kernel["devices"].items()}
