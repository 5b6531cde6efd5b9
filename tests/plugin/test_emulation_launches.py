"""Launches of an emulated column: each is compiled for the device, whatever came of it on the card."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.project import Project

pytest.importorskip("triton")
pytest.importorskip("torch")

FAKE_CARD = Path(__file__).parents[1] / "portability" / "emulation" / "fake_card.py"
FAKE_GPU = Path(__file__).parents[1] / "portability" / "sample" / "fake_gpu.py"
CONFTEST = """
import fake_gpu
from pytest_gpumatrix.hardware.capability import ComputeCapability
fake_gpu.activate(ComputeCapability(9, 0))
"""
KERNELS = """
import torch, triton, triton.language as tl

@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(out + index, tl.load(x + index, mask=index < n), mask=index < n)

@triton.jit
def through_e4m3(x, out, n, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    value = tl.load(x + index, mask=index < n).to(tl.float8e4nv)
    tl.store(out + index, value.to(tl.float32), mask=index < n)

def run(kernel):
    x = torch.ones(64)
    kernel[(1,)](x, torch.empty_like(x), 64, BLOCK=64)
"""
TESTS = """
import pytest
import kernels

@pytest.mark.gpu
def test_falls_back(gpu):
    kernels.run(kernels.through_e4m3 if gpu.capability >= type(gpu.capability)(8, 9) else kernels.copy)

@pytest.mark.gpu
def test_forgets_to(gpu):
    kernels.run(kernels.through_e4m3)

@pytest.mark.gpu
@pytest.mark.gpu_xfail("<8.9", cause="arch_feature", reason="e4m3 needs 8.9")
def test_expected(gpu):
    kernels.run(kernels.through_e4m3)

@pytest.mark.gpu
@pytest.mark.gpu_xfail("<8.9", cause="device_oom", reason="too large")
def test_expected_for_another_cause(gpu):
    kernels.run(kernels.through_e4m3)

@pytest.mark.gpu
def test_fails_by_itself(gpu):
    kernels.run(kernels.copy)
    assert gpu.evidence.value == "native"

@pytest.mark.gpu
def test_no_launch(gpu): ...

@pytest.mark.gpu
@pytest.mark.gpu_xfail("<8.9", reason="cannot be posed", strict=True)
def test_expected_in_vain(gpu):
    kernels.run(kernels.copy)

@pytest.fixture(scope="module")
def prepared():
    kernels.run(kernels.through_e4m3)

def test_not_marked():
    kernels.run(kernels.through_e4m3)

def test_not_marked_with_a_fixture(prepared): ...

@pytest.mark.gpu_xfail("<8.9", cause="arch_feature", reason="e4m3 needs 8.9")
def test_not_marked_and_expected():
    kernels.run(kernels.through_e4m3)

def test_ordinary(): ...
"""


@pytest.fixture
def launching(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(project.path / "cache"))
    project.pytester.makeini("[pytest]\npythonpath = .")
    shutil.copy(FAKE_GPU, project.path)
    (project.path / "conftest.py").write_text(CONFTEST)
    (project.path / "kernels.py").write_text(KERNELS)
    return project.on("h200").tests(TESTS)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_pass_whose_launch_would_fail_there_is_a_failure(launching: Project, workers: tuple[str, ...]) -> None:
    result = launching.recorded("--gpu-devices=h200,rtx-3090", *workers)
    assert result.ret == 1
    assert set(launching.outcomes("h200").values()) == {"passed"}, result.stdout.str()
    assert launching.outcomes("rtx-3090") == {
        "test_falls_back": "passed",
        "test_forgets_to": "failed",
        "test_expected": "xfailed",
        "test_expected_for_another_cause": "failed",
        "test_fails_by_itself": "failed",
        "test_no_launch": "passed",
        "test_expected_in_vain": "xpassed",
        "test_not_marked": "failed",
        "test_not_marked_with_a_fixture": "failed",
        "test_not_marked_and_expected": "xfailed",
        "test_ordinary": "passed",
    }
    cells = launching.cells("rtx-3090")
    assert {cell.evidence.value for cell in cells.values()} == {"emulated"}
    assert "fp8e4nv not supported in this architecture" in cells["test_forgets_to"].message
    cause = cells["test_forgets_to"].cause
    assert cause is not None
    assert cause.category.value == "arch_feature"
    assert "e4m3 needs 8.9" in cells["test_expected"].message
    assert (launching.path / "out" / "rtx-3090.emulated" / "launches.tape.jsonl").exists()
    assert "through_e4m3" not in {launch.partition(":")[0] for launch in [cells["test_falls_back"].message]}


def test_a_pass_of_which_something_is_not_known_of_the_device_is_none(launching: Project) -> None:
    budget = ("-o", "gpu_compile_budget=0", "-k", "falls_back or no_launch")
    assert launching.recorded("--gpu-devices=h200,rtx-3090", *budget).ret == 0
    cells = launching.cells("rtx-3090")
    assert {name: cell.outcome.value for name, cell in cells.items()} == {
        "test_falls_back": "not-run",
        "test_no_launch": "passed",
    }
    said = "passed while posing; not known of the device: copy: not compiled within the budget"
    assert cells["test_falls_back"].message.startswith(said)


def test_an_expected_failure_that_cannot_be_posed_is_not_red(launching: Project) -> None:
    result = launching.recorded("--gpu-devices=h200,rtx-3090", "-k", "in_vain")
    assert result.ret == 0, result.stdout.str()
    [cell] = launching.cells("rtx-3090").values()
    assert (cell.outcome.value, cell.strict) == ("xpassed", False)
    assert cell.message.startswith("passed while posing, though a failure is expected (cannot be posed)")


ASKING = """
import pytest, torch

def total():
    major, _ = torch.cuda.get_device_capability()
    return 3 if major >= 9 else 2

@pytest.mark.gpu
def test_total(gpu):
    assert total() == 3

@pytest.mark.gpu
def test_told_the_same(gpu):
    assert torch.cuda.get_device_capability() == (gpu.capability.major, gpu.capability.minor)
    assert torch.cuda.mem_get_info()[1] <= gpu.profile.memory

@pytest.mark.gpu
def test_put_back(gpu):
    natively = gpu.evidence.value == "native"
    assert (torch.cuda._get_device_properties.__module__ == "fake_card") is natively
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "workers"])
def test_what_torch_tells_decides_which_branch_runs(launching: Project, workers: tuple[str, ...]) -> None:
    shutil.copy(FAKE_CARD, launching.path)
    conftest = (
        "import pytest, torch, fake_card\n"
        "fake_card.FakeCard().install(torch, pytest.MonkeyPatch(), torch.cuda._queued_calls[-1:])\n"
    )
    (launching.path / "conftest.py").write_text(conftest)
    result = launching.tests(ASKING).recorded("--gpu-devices=h200,rtx-3090", *workers)
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*keeps GPU memory*")
    assert set(launching.outcomes("h200").values()) == {"passed"}, result.stdout.str()
    assert launching.outcomes("rtx-3090") == {
        "test_total": "failed",
        "test_told_the_same": "passed",
        "test_put_back": "passed",
    }


def test_a_test_that_breaks_cuda_does_not_end_the_others(launching: Project) -> None:
    shutil.copy(FAKE_CARD, launching.path)
    conftest = (
        "import pytest, torch, fake_card\n"
        "CARD = fake_card.FakeCard()\n"
        "CARD.install(torch, pytest.MonkeyPatch(), torch.cuda._queued_calls[-1:])\n"
        "@pytest.fixture\ndef card():\n    return CARD\n"
    )
    (launching.path / "conftest.py").write_text(conftest)
    source = "import torch\ndef test_it(card):\n    torch.cuda.init()\n    card.broken = True\n"
    result = launching.tests(source).recorded("--gpu-devices=h200,rtx-3090")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gpumatrix: note: this process keeps GPU memory *: CUDA error: an illegal memory*"])
    result.stdout.fnmatch_lines(["rtx-3090 | gpumatrix: note: the card is not as it was: CUDA error: an illegal*"])
    assert launching.outcomes("rtx-3090") == {"test_it": "passed"}
