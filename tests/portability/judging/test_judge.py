from __future__ import annotations

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.judging.judge import Reference, job_for, judge
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import (
    CudaLaunch,
    CudaProgram,
    TritonKernel,
)
from tests.portability.judging.builders import (
    FAILS,
    FATAL,
    KERNEL,
    KNOWN,
    RTX_3090,
    UNKNOWN,
    compiled,
    figures,
    of_triton,
    program,
)


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
        (program(arch="compute_80", target_type="ptx"), "sm_86"),  # translated when it is loaded
        (program(arch="compute_90a", target_type="ptx"), "sm_86"),  # not loaded: what if it were rebuilt
        (program(target_type="ltoir"), "ltoir code is linked later, and not judged"),
        (program(arch="sm90"), "not an architecture: 'sm90' (write 'sm_90' or 'compute_90')"),
        (program(obstacle="cannot be rebuilt: it is nvvm"), "cannot be rebuilt: it is nvvm"),
    ],
)
def test_what_is_compiled(kernel: TritonKernel | CudaProgram, plan: str) -> None:
    found = job_for(kernel, RTX_3090.capability)
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


@pytest.mark.parametrize(
    ("arch", "target_type", "device", "plan"),
    [
        ("sm_90a", "cubin", "9.0", "sm_90a"),
        ("sm_100f", "cubin", "10.3", "sm_100f"),
        ("sm_100a", "cubin", "10.3", "sm_103"),
        ("sm_120f", "cubin", "12.1", "sm_120f"),
        ("sm_120", "cubin", "12.1", "sm_120"),
        ("sm_110", "cubin", "11.0", "sm_110"),
        ("sm_100", "cubin", "11.0", "sm_110"),
        ("compute_90a", "ptx", "9.0", "sm_90a"),
        ("compute_100f", "ptx", "10.3", "sm_103f"),
        ("compute_90", "ptx", "12.1", "sm_121"),
    ],
)
def test_what_is_compiled_of_a_fixed_architecture(arch: str, target_type: str, device: str, plan: str) -> None:
    found = job_for(program(arch=arch, target_type=target_type), ComputeCapability.parse(device))
    assert isinstance(found, Job)
    assert found.arch == plan


SPILLING, CLEAN = figures(spill_stores=280), figures()
NATIVE_90 = ComputeCapability(9, 0)


@pytest.mark.parametrize(
    ("kernel", "kernels", "theirs", "fit", "reason"),
    [
        (KERNEL, {"f": CLEAN}, None, Fit.FITS, ""),
        (KERNEL, {"f": SPILLING}, None, Fit.SLOW, "spills 280 B per thread (no other build to compare with)"),
        (KERNEL, {"f": figures(spill_stores=None)}, None, Fit.FITS, "not known: spills"),
        (KERNEL, {"f": SPILLING}, {"f": SPILLING}, Fit.FITS, "not known: tensor cores, asynchronous copies, atomics"),
        (
            program(follows_device=True),
            {"one": SPILLING, "two": SPILLING},
            None,
            Fit.SLOW,
            (
                "one: spills 280 B per thread (no other build to compare with); "
                "two: spills 280 B per thread (no other build to compare with)"
            ),
        ),
        (program(follows_device=True), None, None, Fit.FITS, "not known: what its kernels take"),
    ],
)
def test_what_fits_may_be_slow(
    kernel: TritonKernel | CudaProgram,
    kernels: dict[str, KernelFigures] | None,
    theirs: dict[str, KernelFigures] | None,
    fit: Fit,
    reason: str,
) -> None:
    reference = None
    if theirs is not None:
        reference = Reference(capability=NATIVE_90, compiled=compiled(kernels=theirs), native=True)
    found = judge(kernel, compiled(kernels=kernels), RTX_3090, KNOWN, reference)
    assert found == Judgement(fit=fit, reason=reason)


@pytest.mark.parametrize(
    ("status", "native", "named"),
    [
        (Status.REFUSED, False, "the build for 9.0 fails"),
        (Status.CRASHED, True, "the native build for 9.0 fails"),
        (Status.UNKNOWN, False, "no other build to compare with"),
    ],
)
def test_a_reference_that_was_not_built_is_said_to_be_so(status: Status, native: bool, named: str) -> None:
    reference = Reference(capability=NATIVE_90, compiled=Compiled(status=status, message="m"), native=native)
    found = judge(KERNEL, compiled(kernels={"f": SPILLING}), RTX_3090, KNOWN, reference)
    assert found == Judgement(fit=Fit.SLOW, reason=f"spills 280 B per thread ({named})")


@pytest.mark.parametrize(("native", "named"), [(True, "the native build for 9.0"), (False, "the build for 9.0")])
def test_only_the_kernel_that_was_launched_is_held_against_its_own_build(native: bool, named: str) -> None:
    launch = CudaLaunch(kernel="one", block=(128, 1, 1), grid=(1, 1, 1), dynamic_shared_memory=0)
    reference = Reference(
        capability=NATIVE_90, compiled=compiled(kernels={"one": CLEAN, "two": SPILLING}), native=native
    )
    mine = compiled(kernels={"one": SPILLING, "two": SPILLING})
    assert judge(program(follows_device=True, launch=launch), mine, RTX_3090, KNOWN, reference) == Judgement(
        fit=Fit.SLOW, reason=f"spills 280 B per thread ({named}: 0 B)"
    )


def test_what_fails_is_not_called_slow() -> None:
    found = judge(KERNEL, of_triton({"spill_stores": 280}, threads=2048), RTX_3090, KNOWN)
    assert found.fit is Fit.FAILS


def test_jobs_of_one_program_launched_differently_are_one() -> None:
    launch = CudaLaunch(kernel="k", block=(128, 1, 1), grid=(1, 1, 1), dynamic_shared_memory=0)
    plans = [job_for(program(arch="sm_80", launch=shape), RTX_3090.capability) for shape in (None, launch)]
    assert len({plan.key for plan in plans if isinstance(plan, Job)}) == 1
