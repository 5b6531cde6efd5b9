from __future__ import annotations

from typing import Any

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.compiling.cubin import KernelFigures
from pytest_gpumatrix.portability.judging.judge import job_for, judge, judge_launches
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import (
    Alternative,
    CudaLaunch,
    CudaProgram,
    FunctionReference,
    Launch,
    TritonKernel,
)

KNOWN = catalogue.load().profiles
RTX_3090 = catalogue.load().resolve("rtx-3090")
KERNEL = TritonKernel(
    function=FunctionReference(module="m", qualname="f", file="m.py", line=1, source_hash="0"),
    signature={},
    constants=(),
    attributes=(),
    options={},
)
FITS = Judgement(fit=Fit.FITS)
FAILS = Judgement(fit=Fit.FAILS, reason="too large", tuner_survives=True)
FATAL = Judgement(fit=Fit.FAILS, reason="no such type")
UNKNOWN = Judgement(fit=Fit.UNKNOWN, reason="not known")


def program(**fields: Any) -> CudaProgram:
    given = {"arch": "sm_90", "target_type": "cubin", "follows_device": False, "code_type": "c++", "options": {}}
    return CudaProgram(name="k", source="", **{**given, **fields})


def compiled(**figures: Any) -> Compiled:
    return Compiled(status=Status.COMPILED, **figures)


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ({"shared_memory": 101_376, "threads": 1024}, ""),
        ({"shared_memory": 101_377}, "needs 101,377 B of shared memory per block, RTX 3090 has 101,376 B"),
        (
            {"shared_memory": 300_000},
            "needs 300,000 B of shared memory per block, RTX 3090 has 101,376 B, and no known GPU has that much",
        ),
        ({"threads": 2048}, "needs 2,048 threads per block, RTX 3090 takes 1,024"),
        ({"tensor_memory": 512}, ""),
        ({"tensor_memory": 1024}, "needs 1,024 columns of tensor memory, an SM has 512"),
    ],
)
def test_limits_of_a_block(figures: dict[str, int], reason: str) -> None:
    found = judge(KERNEL, compiled(**figures), RTX_3090, KNOWN)
    assert found == (Judgement(fit=Fit.FAILS, reason=reason, tuner_survives=True) if reason else FITS)


@pytest.mark.parametrize(
    ("result", "judgement"),
    [
        (Compiled(status=Status.REFUSED, message="no such type"), FATAL),
        (Compiled(status=Status.REFUSED, message="too large", tuner_survives=True), FAILS),
        (Compiled(status=Status.CRASHED, message="crashed"), Judgement(fit=Fit.FAILS, reason="crashed")),
        (Compiled(status=Status.UNKNOWN, message="not known"), UNKNOWN),
    ],
)
def test_what_the_compiler_says(result: Compiled, judgement: Judgement) -> None:
    assert judge(KERNEL, result, RTX_3090, KNOWN) == judgement


@pytest.mark.parametrize(
    ("kernel", "plan"),
    [
        (KERNEL, "sm_86"),
        (program(follows_device=True), "sm_86"),
        (program(arch="sm_80"), "sm_80"),
        (program(arch="sm_90"), "sm_86"),
        (program(arch="compute_80", target_type="ptx"), "sm_80"),
        (program(target_type="ltoir"), "ltoir code is linked later, and not judged"),
        (program(arch="sm90"), "not an architecture: 'sm90' (write 'sm_90' or 'compute_90')"),
        (program(obstacle="cannot be rebuilt: it is nvvm"), "cannot be rebuilt: it is nvvm"),
    ],
)
def test_what_is_compiled(kernel: TritonKernel | CudaProgram, plan: str) -> None:
    found = job_for(kernel, RTX_3090)
    assert (found.arch if isinstance(found, Job) else found.reason) == plan


@pytest.mark.parametrize(
    ("result", "what_if"),
    [
        (compiled(), "it would build for sm_86"),
        (Compiled(status=Status.REFUSED, message="it needs 9.0"), "rebuilding for sm_86 fails too: it needs 9.0"),
        (
            Compiled(status=Status.UNKNOWN, message="no compiler"),
            "whether it would build for sm_86 is not known: no compiler",
        ),
    ],
)
def test_a_fixed_architecture_fails_whatever_a_rebuild_would_give(result: Compiled, what_if: str) -> None:
    assert judge(program(), result, RTX_3090, KNOWN) == Judgement(
        fit=Fit.FAILS, reason=f"no kernel image for 8.6: built for sm_90 only; {what_if}"
    )


KERNELS = {
    "k": KernelFigures(static_shared_memory=40_960, registers=32, max_threads=128),
    "many": KernelFigures(static_shared_memory=0, registers=72),
}


@pytest.mark.parametrize(
    ("shape", "kernels", "fit", "reason"),
    [
        ({}, KERNELS, Fit.FITS, ""),
        (
            {"dynamic_shared_memory": 147_456},
            KERNELS,
            Fit.FAILS,
            "needs 147,456 B of shared memory per block, RTX 3090 has 101,376 B",
        ),
        ({"dynamic_shared_memory": 60_416}, KERNELS, Fit.FITS, ""),
        (
            {"dynamic_shared_memory": 60_417},  # with what the kernel has of itself
            KERNELS,
            Fit.FAILS,
            "needs 101,377 B of shared memory per block, RTX 3090 has 101,376 B",
        ),
        ({"threads": 1024}, KERNELS, Fit.FAILS, "needs 1,024 threads per block, its launch bounds allow 128"),
        ({"kernel": "many", "threads": 896}, KERNELS, Fit.FITS, ""),
        (
            {"kernel": "many", "threads": 897},
            KERNELS,
            Fit.FAILS,
            "needs 66,816 registers per block, RTX 3090 has 65,536",
        ),
        ({"threads": 2048}, None, Fit.FAILS, "needs 2,048 threads per block, RTX 3090 takes 1,024"),
        ({}, None, Fit.UNKNOWN, "what k takes could not be read"),
        ({"kernel": "other"}, KERNELS, Fit.UNKNOWN, "what other takes could not be read"),
        ({"kernel": None}, KERNELS, Fit.FITS, ""),
        (
            {"kernel": None, "threads": 256},
            KERNELS,
            Fit.UNKNOWN,
            (
                "which kernel of the program was launched is not known; one of them needs 256 threads per block, "
                "its launch bounds allow 128"
            ),
        ),
        ({"blocks_per_cluster": 2}, KERNELS, Fit.FAILS, "needs thread block clusters (of 2), RTX 3090 has none"),
        ({"cooperative": True, "blocks": 82}, KERNELS, Fit.FITS, ""),
        (
            {"cooperative": True, "blocks": 83},
            KERNELS,
            Fit.UNKNOWN,
            "a cooperative launch of 83 blocks must be resident at once on 82 SMs of RTX 3090",
        ),
    ],
)
def test_a_cuda_launch(shape: dict[str, Any], kernels: dict[str, KernelFigures] | None, fit: Fit, reason: str) -> None:
    launch = CudaLaunch(**{"kernel": "k", "threads": 128, "dynamic_shared_memory": 0, "blocks": 1, **shape})
    found = judge(program(arch="sm_80", launch=launch), compiled(kernels=kernels), RTX_3090, KNOWN)
    assert found == Judgement(fit=fit, reason=reason)


@pytest.mark.parametrize(("blocks", "fit"), [(8, Fit.FITS), (16, Fit.UNKNOWN)])
def test_a_cluster_where_there_are_any(blocks: int, fit: Fit) -> None:
    launch = CudaLaunch(kernel="k", threads=128, dynamic_shared_memory=0, blocks=16, blocks_per_cluster=blocks)
    h100 = catalogue.load().resolve("h100-sxm")
    assert judge(program(launch=launch), compiled(kernels=KERNELS), h100, KNOWN).fit is fit


def test_jobs_of_one_program_launched_differently_are_one() -> None:
    launch = CudaLaunch(kernel="k", threads=128, dynamic_shared_memory=0, blocks=1)
    plans = [job_for(program(arch="sm_80", launch=shape), RTX_3090) for shape in (None, launch)]
    assert len({plan.key for plan in plans if isinstance(plan, Job)}) == 1


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        # (kept by pruning, judgement) of each configuration
        ([(True, FITS)], FITS),
        ([(True, FAILS), (True, FITS)], FITS),
        (
            [(True, FAILS), (True, FAILS)],
            Judgement(fit=Fit.FAILS, reason="no configuration of 2 fits: too large"),
        ),
        ([(True, FITS), (True, UNKNOWN)], UNKNOWN),
        (
            [(True, FITS), (True, FATAL)],
            Judgement(fit=Fit.FAILS, reason="a configuration ends the tuning: no such type"),
        ),
        ([(True, FITS), (False, FATAL)], FITS),
        (
            [(True, FAILS), (False, FITS)],
            Judgement(
                fit=Fit.UNKNOWN,
                reason="none of the 1 configurations that were kept here fits; pruning may keep others there",
            ),
        ),
        ([(True, FAILS), (False, FAILS)], Judgement(fit=Fit.FAILS, reason="no configuration of 2 fits: too large")),
    ],
)
def test_configurations_of_one_launch(members: list[tuple[bool, Judgement]], expected: Judgement) -> None:
    launches = [
        (Launch(test="t", kernel=KERNEL, alternative=Alternative(group="g", kept=kept)), judgement)
        for kept, judgement in members
    ]
    alone = (Launch(test="t", kernel=KERNEL), FAILS)
    assert [judgement for _, judgement in judge_launches([*launches, alone])] == [expected, FAILS]
