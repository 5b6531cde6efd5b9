"""Marks gate, with and without --gpu-matrix, on a machine with a GPU and on one without."""

from __future__ import annotations

import pytest

from tests.project import Project

GATED = """
import pytest

@pytest.mark.gpu
def test_any(gpu):
    assert gpu.torch_device == "cuda:0"

@pytest.mark.gpu(">=9.0")
def test_hopper(gpu):
    assert str(gpu.capability) == "9.0"
    assert gpu.profile.architecture == "Hopper"

@pytest.mark.gpu("==8.6")
class TestAmpere:
    @pytest.mark.gpu(memory="20GiB")
    def test_big(self, gpu):
        assert gpu.device in ("rtx-3090", "rtx3090")

    @pytest.mark.gpu(memory="40GiB")
    def test_huge(self): ...

def test_plain(): ...
"""


def test_plain_pytest_gates_and_never_crashes_for_want_of_a_gpu(project: Project) -> None:
    result = project.tests(GATED).run("-rs")
    result.assert_outcomes(passed=1, skipped=4)
    result.stdout.fnmatch_lines(["*test_it.py:*: needs a CUDA GPU: gpu(); none here (no NVIDIA driver answers: *"])


def test_on_a_gpu(project: Project) -> None:
    result = project.tests(GATED).on("rtx3090").run("-rs")
    result.assert_outcomes(passed=3, skipped=2)
    result.stdout.fnmatch_lines(
        [
            "*needs compute capability >=9.0; rtx-3090 has 8.6",
            "*needs 40 GiB of GPU memory; rtx-3090 has 24 GiB",
        ]
    )


def test_a_skip_points_at_the_test_and_names_the_worker(project: Project) -> None:
    result = project.tests(GATED).on("h100").run("-rs", "-n", "1")
    result.stdout.fnmatch_lines(
        ["SKIPPED [[]1] test_it.py:*: needs compute capability ==8.6; h100-sxm has 9.0 [[]gw0]"]
    )


def test_a_device_is_named_as_the_matrix_names_it(project: Project) -> None:
    result = project.matrix().tests(GATED).on("h100").run("-rs")
    result.stdout.fnmatch_lines(["*needs compute capability ==8.6; h100 has 9.0"])


BAD = """
import pytest

@pytest.mark.gpu("90")
def test_bare(): ...

@pytest.mark.gpu(memory="20")
def test_no_unit(): ...

@pytest.mark.gpu_xfail("rtx3O9O", reason="a typo")
def test_no_such_device(): ...

def test_fine(): ...
"""


@pytest.mark.parametrize(
    ("arguments", "exit_code"), [((), 2), (("-n", "2"), 1), (("--gpu-matrix",), 2), (("--co",), 2)]
)
def test_a_bad_mark_names_the_test_and_the_right_form(
    project: Project, arguments: tuple[str, ...], exit_code: int
) -> None:
    result = project.tests(BAD).run(*arguments)
    assert result.ret == exit_code
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_bare (test_it.py:*'90' is ambiguous: write \">=9.0\"*",
            "test_it.py::test_no_unit (test_it.py:*not a size: '20'*",
            "test_it.py::test_no_such_device (test_it.py:*no GPU profile 'rtx3O9O'*",
        ]
    )
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_marks_that_a_conftest_adds_late_gate_too(project: Project) -> None:
    project.pytester.makeconftest(
        "import pytest\ndef pytest_collection_modifyitems(items):\n    items[0].add_marker(pytest.mark.gpu)"
    )
    project.tests("def test_a(): ...\ndef test_b(): ...").run().assert_outcomes(passed=1, skipped=1)


XFAIL = """
import pytest

@pytest.mark.gpu
@pytest.mark.gpu_xfail("<8.9", cause="no_kernel_image", raises=RuntimeError, reason="built for sm_90 only")
def test_expected():
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

@pytest.mark.gpu
@pytest.mark.gpu_xfail("<8.9", cause="no_kernel_image", reason="built for sm_90 only")
def test_another_cause():
    raise RuntimeError("wrong result")

@pytest.mark.gpu
@pytest.mark.gpu_xfail("rtx-3090", reason="built for sm_90 only")
def test_passes(): ...

@pytest.mark.gpu
@pytest.mark.gpu_xfail("RTX 3090", reason="built for sm_90 only", strict=False)
def test_passes_leniently(): ...

@pytest.mark.gpu(">=9.0", otherwise="xfail")
def test_run_elsewhere_too():
    raise RuntimeError("no TMA")

@pytest.fixture
def broken():
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

@pytest.mark.gpu
@pytest.mark.gpu_xfail("<8.9", reason="built for sm_90 only")
def test_setup_is_not_excused(broken): ...

@pytest.mark.gpu
def test_first(): ...
"""


def test_expected_failures(project: Project) -> None:
    result = project.tests(XFAIL).on("rtx3090").recorded("-v")
    assert result.ret == 1
    assert project.outcomes("rtx-3090") == {
        "test_expected": "xfailed",
        "test_another_cause": "failed",
        "test_passes": "xpassed",
        "test_passes_leniently": "xpassed",
        "test_run_elsewhere_too": "xfailed",
        "test_setup_is_not_excused": "error",
        "test_first": "passed",
    }
    strict = {name: cell.strict for name, cell in project.cells("rtx-3090").items() if cell.outcome.value == "xpassed"}
    assert strict == {"test_passes": True, "test_passes_leniently": False}
    result.stdout.fnmatch_lines(["*expected to fail by no_kernel_image, failed by genuine_failure*"])


def test_what_is_run_in_order_to_fail_runs_last(project: Project) -> None:
    result = project.tests(XFAIL).on("rtx3090").run("-v")
    ran = [line.split("::")[1].split()[0] for line in result.outlines if line.startswith("test_it.py::")]
    assert ran[0] == "test_first"


def test_no_failure_is_expected_elsewhere(project: Project) -> None:
    project.tests(XFAIL).on("h100").recorded()
    assert project.outcomes("h100-sxm")["test_expected"] == "failed"
    assert project.outcomes("h100-sxm")["test_passes"] == "passed"


def test_a_mixed_box_is_refused_under_workers(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    result = project.tests(GATED).on("h100", "rtx3090").run("--gpu-matrix", "-n", "2")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*-n on a box with different GPUs (NVIDIA GeForce RTX 3090, NVIDIA H100 80GB HBM3)*"])


def test_a_mixed_box_without_an_order_is_refused(project: Project) -> None:
    result = project.tests(GATED).on("h100", "rtx3090").run("--gpu-matrix")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*set CUDA_DEVICE_ORDER=PCI_BUS_ID*"])


def test_the_gpu_fixture_needs_the_mark(project: Project) -> None:
    result = project.tests("def test_a(gpu): ...").on("h100").run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_it.py::test_a: the gpu fixture is for tests marked gpu*"])


class TestInterpreter:
    TESTS = """
import os, pytest

@pytest.mark.gpu(">=9.0", interpret=True)
def test_kernel(gpu):
    assert os.environ["TRITON_INTERPRET"] == "1"
    assert (gpu.torch_device, gpu.device, gpu.capability) == ("cpu", "cpu", None)
"""

    def test_interpreting_is_asked_for_by_the_ini_option(self, project: Project) -> None:
        result = project.tests(self.TESTS).run("-rs")
        result.assert_outcomes(skipped=1)
        result.stdout.fnmatch_lines(["*gpu_interpret = true*"])

    def test_then_the_test_runs_on_the_cpu(self, project: Project) -> None:
        project.pytester.makeini("[pytest]\ngpu_interpret = true")
        project.pytester.makeconftest("import os\nassert os.environ['TRITON_INTERPRET'] == '1'")
        project.tests(self.TESTS).run().assert_outcomes(passed=1)
        project.run("-n", "1").assert_outcomes(passed=1)

    def test_a_gpu_is_not_interpreted_on(self, project: Project) -> None:
        project.pytester.makeini("[pytest]\ngpu_interpret = true")
        project.pytester.makeconftest("import os\nassert 'TRITON_INTERPRET' not in os.environ")
        project.on("h100").tests("def test_a(): ...").run().assert_outcomes(passed=1)
