"""Two blockers that a user met on an RTX 3090, rebuilt: found on a machine without a GPU, and named with the reason."""

from __future__ import annotations

import pytest

from tests.project import Project

pytest.importorskip("cuda.core")

# A fused loss whose gradient is stored as e5m2, compiled for a fixed capability; an attention that loads by TMA.
KERNELS = r"""
from cuda.core import Program, ProgramOptions

CROSS_ENTROPY = '''
extern "C" __global__ void cross_entropy(const float2* gradient, unsigned short* stored, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) return;
    unsigned short packed;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(gradient[index].y), "f"(gradient[index].x));
    stored[index] = packed;
}'''

ATTENTION = '''
extern "C" __global__ void attention(const void* descriptor, float* out) {
    __shared__ alignas(128) float tile[1024];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned int destination = static_cast<unsigned int>(__cvta_generic_to_shared(tile));
    unsigned int arrival = static_cast<unsigned int>(__cvta_generic_to_shared(&barrier));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :: "r"(destination), "l"(descriptor), "r"(0), "r"(0), "r"(arrival) : "memory");
    out[threadIdx.x] = tile[threadIdx.x];
}'''

def build(source, arch):
    return Program(source, "c++", ProgramOptions(arch=arch)).compile("cubin")
"""

TESTS = """
import pytest
import kernels

@pytest.mark.gpu(interpret=True)
def test_cross_entropy():
    assert kernels.build(kernels.CROSS_ENTROPY, "sm_90").code

@pytest.mark.gpu(interpret=True)
def test_attention():
    assert kernels.build(kernels.ATTENTION, "sm_90a").code
"""


def found(project: Project, tests: str = TESTS) -> pytest.RunResult:
    project.pytester.makeini("[pytest]\ngpu_interpret = true\npythonpath = .")
    (project.path / "kernels.py").write_text(KERNELS)
    return project.matrix().tests(tests).recorded()


def test_both_are_found_without_a_gpu(project: Project) -> None:
    result = found(project)
    assert result.ret == 1
    assert project.outcomes("cpu") == {"test_cross_entropy": "passed", "test_attention": "passed"}
    assert project.outcomes("h100") == {"test_cross_entropy": "compiled", "test_attention": "compiled"}
    cells = project.cells("rtx3090")
    for test, built_for, why in (
        ("test_cross_entropy", "sm_90", "sm_89"),
        ("test_attention", "sm_90a", "sm_90"),
    ):
        cell = cells[test]
        assert cell.outcome.value == "failed"
        assert cell.evidence.value == "compiled"
        assert cell.cause is not None
        assert cell.cause.category.value == "no_kernel_image"
        assert f"no kernel image for 8.6: built for {built_for} only" in cell.message
        # Writing "86" for "90" does not help either, and that is said as well.
        assert "rebuilding for sm_86 fails too" in cell.message
        assert f"requires .target {why} or higher" in cell.message
    result.stdout.fnmatch_lines(
        [
            "rtx3090: test_it.py::test_attention",
            "*no kernel image for 8.6*",
            "gpumatrix: exit code 1: compiled cells that are bad: 2 (rtx3090)",
        ]
    )


def test_the_report_says_ampere_only(project: Project) -> None:
    found(project)
    project.matrix(
        "version: 1\ndevices:\n  h100: {profile: h100-sxm, require: compiled}\n"
        "  rtx3090: {profile: rtx-3090, require: compiled}\n"
    )
    code, report = project.report("out")
    assert code == 1
    assert {change["test"]: (change["change"], list(change["devices"])) for change in report["changes"]} == {
        "test_it.py::test_attention": ("failing", ["rtx3090"]),
        "test_it.py::test_cross_entropy": ("failing", ["rtx3090"]),
    }


def test_a_mark_may_expect_it(project: Project) -> None:
    expecting = TESTS.replace(
        "@pytest.mark.gpu(interpret=True)\n",
        '@pytest.mark.gpu(interpret=True)\n@pytest.mark.gpu_xfail("<8.9", cause="no_kernel_image", reason="sm_90")\n',
    )
    assert found(project, expecting).ret == 0
    assert set(project.outcomes("rtx3090").values()) == {"xfailed"}


def test_a_mark_that_expects_another_cause_is_not_met(project: Project) -> None:
    expecting = TESTS.replace(
        "@pytest.mark.gpu(interpret=True)\n",
        '@pytest.mark.gpu(interpret=True)\n@pytest.mark.gpu_xfail("<8.9", cause="device_oom", reason="large")\n',
    )
    assert found(project, expecting).ret == 1
    assert set(project.outcomes("rtx3090").values()) == {"failed"}
