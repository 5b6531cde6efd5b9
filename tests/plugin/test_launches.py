"""Launches of tests, compiled for the devices that are not here."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.record.cell import Place
from tests.project import Project

pytest.importorskip("triton")
pytest.importorskip("torch")

KERNELS = """
import torch, triton, triton.language as tl

@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, tl.load(x + index, mask=index < n) * factor, mask=index < n)

@triton.jit
def to_e4m3(x, out, n, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    value = tl.load(x + index, mask=index < n).to(tl.float8e4nv)
    tl.store(out + index, value.to(tl.float32), mask=index < n)

def run(kernel, *extra):
    x = torch.ones(64)
    out = torch.empty_like(x)
    kernel[(1,)](x, out, 64, *extra, BLOCK=64)
    return out
"""

TESTS = """
import pytest
import kernels

@pytest.mark.gpu(">=8.0", interpret=True)
def test_scale(gpu):
    assert kernels.run(kernels.scale, 3.0).sum() == 192

@pytest.mark.gpu(interpret=True)
def test_fp8(gpu):
    assert kernels.run(kernels.to_e4m3).sum() == 64

@pytest.mark.gpu(interpret=True)
@pytest.mark.gpu_xfail("<8.9", cause="arch_feature", reason="e4m3 needs 8.9")
def test_fp8_expected(gpu):
    assert kernels.run(kernels.to_e4m3).sum() == 64

@pytest.mark.gpu(interpret=True)
@pytest.mark.gpu_xfail("rtx3090", cause="onchip_limit", reason="tiles are too large")
def test_expected_in_vain(gpu):
    assert kernels.run(kernels.scale, 3.0).sum() == 192

@pytest.mark.gpu(">=8.9", interpret=True, otherwise="xfail")
def test_run_elsewhere_too(gpu):
    assert kernels.run(kernels.to_e4m3).sum() == 64

@pytest.mark.gpu(interpret=True)
def test_wrong(gpu):
    assert kernels.run(kernels.scale, 3.0).sum() == 1

@pytest.mark.gpu(interpret=True)
def test_no_launch(gpu): ...

@pytest.mark.gpu("==9.0", interpret=True)
def test_hopper(gpu):
    kernels.run(kernels.scale, 3.0)

def test_ordinary(): ...
"""


@pytest.fixture
def launching(project: Project) -> Project:
    project.pytester.makeini("[pytest]\ngpu_interpret = true\npythonpath = .")
    (project.path / "kernels.py").write_text(KERNELS)
    return project.matrix().tests(TESTS)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_compiled_columns(launching: Project, workers: tuple[str, ...]) -> None:
    assert launching.recorded(*workers).ret == 1
    assert launching.outcomes("rtx3090") == {
        "test_scale": "compiled",
        "test_fp8": "failed",
        "test_fp8_expected": "xfailed",
        "test_expected_in_vain": "compiled",
        "test_run_elsewhere_too": "xfailed",
        "test_wrong": "not-run",
        "test_no_launch": "not-run",
        "test_hopper": "skipped-requirement",
    }
    h100 = launching.outcomes("h100")
    assert h100["test_fp8"] == h100["test_hopper"] == h100["test_run_elsewhere_too"] == "compiled"
    cells = launching.cells("rtx3090")
    assert {cell.evidence.value for cell in cells.values()} == {"compiled"}
    cause = cells["test_fp8"].cause
    assert cause is not None
    assert cause.category.value == "arch_feature"
    assert "fp8e4nv not supported in this architecture" in cells["test_fp8"].message
    assert cells["test_fp8"].place == Place(file="kernels.py", line=9)  # of the kernel that would not compile
    assert {test for test, cell in cells.items() if cell.place is not None} == {"test_fp8"}
    assert "though a failure is expected (tiles are too large)" in cells["test_expected_in_vain"].message
    assert "1 kernel launch fits; where it ran: failed" in cells["test_wrong"].message
    assert "no kernel launch to go by" in cells["test_no_launch"].message


def test_a_misfit_turns_a_green_run_red(launching: Project) -> None:
    result = launching.run("--gpu-matrix", "-k", "test_scale or test_fp8 or test_ordinary")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gpumatrix: exit code 1: compiled cells that are bad: 1 (rtx3090)"])
    assert launching.run("--gpu-matrix", "-k", "test_scale or test_ordinary").ret == 0


def test_an_expectation_of_the_file_holds_as_well(launching: Project) -> None:
    expectation = '  - {test: "test_it.py::test_fp8", devices: "<8.9", expect: fail, reason: "no e4m3"}\n'
    launching.matrix((launching.path / "gpumatrix.yml").read_text() + "expectations:\n" + expectation)
    assert launching.run("--gpu-matrix", "-k", "test_fp8").ret == 0


def test_a_budget_of_nothing_leaves_nothing_green(launching: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUMATRIX_CACHE_DIR", str(launching.path / "cache"))
    launching.recorded("-o", "gpu_compile_budget=0", "-k", "test_scale")
    assert launching.outcomes("rtx3090") == {"test_scale": "not-run"}
    assert "budget" in launching.cells("rtx3090")["test_scale"].message


def test_the_dots_of_a_quiet_run_end_before_the_progress_begins(launching: Project) -> None:
    conftest = "from pytest_gpumatrix.render import progress\nprogress._QUIET_SECONDS = 0.0\n"
    (launching.path / "conftest.py").write_text(conftest)
    result = launching.run("--gpu-matrix", "-q", "-k", "test_scale")
    assert any(line.startswith("gpumatrix: 2 of 2 compilations are done") for line in result.outlines)


def test_a_wrong_budget_is_a_usage_error(launching: Project) -> None:
    assert launching.run("--gpu-matrix", "-o", "gpu_compile_budget=soon").ret == 4


SHARED = """
import pytest
import kernels

@pytest.fixture(scope="module")
def prepared():
    return kernels.run(kernels.to_e4m3)

@pytest.fixture(scope="module")
def again(prepared):
    return prepared

@pytest.fixture
def own():
    return kernels.run(kernels.scale, 3.0)

def test_ordinary(prepared):
    assert prepared.sum() == 64

@pytest.mark.gpu(interpret=True)
def test_first(gpu, prepared): ...

@pytest.mark.gpu(interpret=True)
def test_through_another(own, again): ...

@pytest.mark.gpu(interpret=True)
def test_asked_for(own, request):
    request.getfixturevalue("prepared")

@pytest.mark.gpu(interpret=True)
def test_asked_for_unseen(request):
    request.getfixturevalue("prepared")
    kernels.run(kernels.scale, 3.0)

@pytest.mark.gpu(interpret=True)
def test_without(own, request): ...

class TestCloser:
    @pytest.fixture(scope="class")
    def prepared(self):
        return kernels.run(kernels.scale, 3.0)

    @pytest.mark.gpu(interpret=True)
    def test_overrides(self, prepared): ...

class TestOnTop:
    @pytest.fixture(scope="class")
    def prepared(self, prepared):
        return kernels.run(kernels.scale, 3.0)

    @pytest.mark.gpu(interpret=True)
    def test_extends(self, prepared): ...

class TestSetUp:
    @classmethod
    def setup_class(cls):
        kernels.run(kernels.to_e4m3)

    def test_ordinary(self): ...

    @pytest.mark.gpu(interpret=True)
    def test_of_the_class(self, own): ...
"""


def test_launches_of_a_shared_fixture_are_those_of_each_test_that_uses_it(launching: Project) -> None:
    launching.tests(SHARED).recorded()
    assert launching.outcomes("rtx3090") == {
        "test_first": "failed",
        "test_through_another": "failed",
        "test_asked_for": "failed",
        "test_asked_for_unseen": "not-run",
        "test_without": "compiled",
        "TestCloser::test_overrides": "compiled",
        "TestOnTop::test_extends": "failed",
        "TestSetUp::test_of_the_class": "failed",
    }
    unseen = launching.cells("rtx3090")["test_asked_for_unseen"]
    assert unseen.message.startswith("may use the fixture prepared, which launched kernels")
    assert set(launching.outcomes("h100").values()) == {"compiled", "not-run"}


def test_launches_of_a_modules_import_are_its_tests(launching: Project) -> None:
    source = "import pytest\nimport kernels\nkernels.run(kernels.to_e4m3)\n\n"
    source += "@pytest.mark.gpu(interpret=True)\ndef test_a(gpu):\n    kernels.run(kernels.scale, 3.0)\n"
    launching.tests(source).recorded()
    assert launching.outcomes("h100") == {"test_a": "compiled"}
    assert launching.outcomes("rtx3090") == {"test_a": "failed"}
