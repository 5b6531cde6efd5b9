"""Kernels built for GPUs that are not here: what is said of them is what is known of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job
from pytest_gpumatrix.portability.compiling.compiling_process import CompilingProcess, compiling_environment
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures, TensorPath
from pytest_gpumatrix.portability.compiling.pool import run_jobs
from pytest_gpumatrix.portability.judging.judge import Reference, job_for, judge
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import Kernel
from tests.portability.judging import known_launches
from tests.portability.nvrtc_words import NEEDS_89

KNOWN = catalogue.load().profiles
DEVICES = {
    "8.0": "a100-80gb",
    "8.6": "rtx-3090",
    "8.9": "rtx-4090",
    "9.0": "h100-sxm",
    "10.0": "b200",
    "12.0": "rtx-5090",
}


@dataclass(frozen=True, kw_only=True)
class Built:
    """What the compilers made of the kernels, each job once."""

    kernels: Mapping[str, tuple[Kernel, str]]
    results: Mapping[str, Compiled]

    def compiled(self, name: str, capability: str) -> Compiled:
        plan = job_for(self.kernels[name][0], ComputeCapability.parse(capability))
        assert isinstance(plan, Job)
        return self.results[plan.key]

    def figures(self, name: str, capability: str) -> KernelFigures:
        [figures] = (self.compiled(name, capability).kernels or {}).values()
        return figures

    def judgement(self, name: str, capability: str, native: str = str(known_launches.NATIVE)) -> Judgement:
        reference = Reference(
            capability=ComputeCapability.parse(native), compiled=self.compiled(name, native), native=True
        )
        return judge(self.kernels[name][0], self.compiled(name, capability), profile(capability), KNOWN, reference)


def profile(capability: str) -> Profile:
    return catalogue.load().resolve(DEVICES[capability])


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    pytest.importorskip("triton")
    pytest.importorskip("cuda.core")
    known = known_launches.kernels()
    plans = [
        job_for(kernel, ComputeCapability.parse(capability))
        for kernel, devices in known.values()
        for capability in devices.split()
    ]
    jobs = {plan.key: plan for plan in plans if isinstance(plan, Job)}
    environment = compiling_environment({**os.environ, "TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("triton"))})
    found = run_jobs(
        jobs.values(),
        processes=2,
        start=lambda: CompilingProcess(known_launches.ROOT, [str(known_launches.ROOT), *sys.path], environment),
        budget_seconds=600.0,
    )
    return Built(kernels=known, results={job.key: compiled for job, compiled in found})


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("matmul", {"8.0": 147_456, "8.6": 147_456, "8.9": 147_456, "9.0": 196_608, "10.0": 196_624, "12.0": 147_456}),
        ("relu_squared", {"8.6": 65_536, "9.0": 196_640, "12.0": 147_480}),
        ("gram 128x128x64", {"8.6": 98_304, "9.0": 131_072}),
        ("gram 64x128x128", {"8.6": 147_456, "9.0": 196_608}),
    ],
)
def test_shared_memory(built: Built, name: str, shared: dict[str, int]) -> None:
    assert {capability: built.compiled(name, capability).shared_memory for capability in shared} == shared
    assert {built.figures(name, capability).static_shared_memory for capability in shared} == {0}


TOO_LARGE = "needs {} B of shared memory per block, {} has 101,376 B"
NEEDS_89_BY_TRITON = "Feature 'cvt with .e4m3x2/.e5m2x2' requires .target sm_89 or higher"
NO_CLUSTERS = "num_ctas > 1 requires NVIDIA SM90+ (Hopper)."


@pytest.mark.parametrize(
    ("name", "capability", "fit", "reason"),
    [
        ("matmul", "8.0", Fit.FITS, ""),
        ("matmul", "8.6", Fit.FAILS, TOO_LARGE.format("147,456", "RTX 3090")),
        ("matmul", "8.9", Fit.FAILS, TOO_LARGE.format("147,456", "RTX 4090")),
        ("matmul", "9.0", Fit.FITS, ""),
        ("matmul", "10.0", Fit.FITS, ""),
        ("matmul", "12.0", Fit.FAILS, TOO_LARGE.format("147,456", "RTX 5090")),
        ("relu_squared", "9.0", Fit.FITS, ""),
        ("relu_squared", "12.0", Fit.FAILS, TOO_LARGE.format("147,480", "RTX 5090")),
        ("gram 128x128x64", "8.6", Fit.FITS, ""),
        ("gram 64x128x128", "8.6", Fit.FAILS, TOO_LARGE.format("147,456", "RTX 3090")),
        ("gram 64x128x128", "9.0", Fit.FITS, ""),
        ("fp8", "8.9", Fit.FITS, ""),
        ("e5m2", "8.6", Fit.FAILS, NEEDS_89_BY_TRITON),
        ("e5m2", "8.9", Fit.FITS, ""),
        ("bf16 atomics, one a thread", "8.6", Fit.FITS, ""),
        ("fp32 atomics", "8.6", Fit.FITS, ""),
        ("32 warps", "8.6", Fit.FITS, ""),
        ("64 warps", "8.6", Fit.FAILS, "needs 2,048 threads per block, RTX 3090 takes 1,024"),
        ("64 warps", "9.0", Fit.FAILS, "needs 2,048 threads per block, H100 SXM takes 1,024"),
        ("2 blocks a cluster", "8.6", Fit.FAILS, NO_CLUSTERS),
        ("2 blocks a cluster", "9.0", Fit.FITS, ""),
        ("2 blocks a cluster", "12.0", Fit.FITS, ""),
        ("16 blocks a cluster", "9.0", Fit.FITS, ""),
        (
            "16 blocks a cluster",
            "12.0",
            Fit.UNKNOWN,
            "a cluster of 16 blocks is over the 8 that every GPU with clusters takes",
        ),
        ("C++ e5m2", "8.6", Fit.FAILS, NEEDS_89),
        ("C++ e5m2", "8.9", Fit.FITS, ""),
        ("C++ setmaxnreg, 9.0", "9.0", Fit.FAILS, "Instruction 'setmaxnreg.dec' not supported on .target 'sm_90'"),
        ("C++ setmaxnreg, 9.0a", "9.0", Fit.FITS, ""),
        ("C++ PTX of 8.0", "8.6", Fit.FITS, ""),
        ("C++ PTX of 9.0a", "9.0", Fit.FITS, ""),
        ("C++ bf16, one", "8.6", Fit.FITS, ""),
        ("C++ cluster", "8.6", Fit.FAILS, "__cluster_dims__ is not supported for this GPU architecture"),
        ("C++ cluster", "9.0", Fit.FITS, ""),
        (
            "C++ cluster of 2 for 4",
            "9.0",
            Fit.FAILS,
            "is launched in clusters of 2x1x1 blocks, its __cluster_dims__ make it 4x1x1",
        ),
        ("C++ cluster of 4 for 4", "9.0", Fit.FITS, ""),
    ],
)
def test_whether_it_runs(built: Built, name: str, capability: str, fit: Fit, reason: str) -> None:
    found = built.judgement(name, capability)
    assert found.fit is fit, found
    assert reason in found.reason
    assert bool(reason) == bool(found.reason)


@pytest.mark.parametrize(
    ("name", "capability", "fit", "reason"),
    [
        ("fp8", "8.6", Fit.FAILS, "type fp8e4nv not supported in this architecture"),
        ("C++ setmaxnreg, 10.0f", "10.0", Fit.FITS, ""),
        ("C++ setmaxnreg, 10.0f", "9.0", Fit.FAILS, "no kernel image for 9.0: built for sm_100f only"),
        ("C++ setmaxnreg, 12.0a", "12.0", Fit.FITS, ""),
        (
            "C++ setmaxnreg, 9.0a",
            "8.6",
            Fit.FAILS,
            "no kernel image for 8.6: built for sm_90a only; rebuilding for sm_86 fails too",
        ),
        ("C++ PTX of 9.0a", "8.6", Fit.FAILS, "no kernel image for 8.6: PTX of compute_90a only"),
        ("C++ PTX of 9.0a", "10.0", Fit.FAILS, "no kernel image for 10.0: PTX of compute_90a only"),
        ("C++ 512 threads", "8.6", Fit.FITS, ""),
        ("C++ 513 threads", "8.6", Fit.FAILS, "needs 513 threads per block, its launch bounds allow 512"),
        ("C++ 1,024 threads", "8.6", Fit.FITS, ""),
        ("C++ 1,025 threads", "8.6", Fit.FAILS, "needs 1,025 threads per block, RTX 3090 takes 1,024"),
    ],
)
def test_whether_it_runs_by_its_own_build(built: Built, name: str, capability: str, fit: Fit, reason: str) -> None:
    found = judge(built.kernels[name][0], built.compiled(name, capability), profile(capability), KNOWN)
    assert found.fit is fit, found
    assert reason in found.reason


@pytest.mark.parametrize(
    ("name", "capability", "tensor_path", "async_copies", "bulk_copies"),
    [
        ("matmul", "8.0", TensorPath.MMA, True, False),
        ("matmul", "8.6", TensorPath.MMA, True, False),
        ("matmul", "9.0", TensorPath.WGMMA, True, False),
        ("matmul", "10.0", TensorPath.TCGEN05, True, False),
        ("matmul", "12.0", TensorPath.MMA, True, False),
        ("relu_squared", "8.6", TensorPath.MMA, False, False),
        ("relu_squared", "9.0", TensorPath.WGMMA, False, True),
        ("relu_squared", "12.0", TensorPath.MMA, False, True),
        ("32 warps", "8.6", TensorPath.NONE, False, False),
    ],
)
def test_how_it_works(
    built: Built, name: str, capability: str, tensor_path: TensorPath, async_copies: bool, bulk_copies: bool
) -> None:
    found = built.figures(name, capability)
    assert found.tensor_path is tensor_path
    assert (found.async_copies, found.bulk_copies) != (None, None)
    assert (bool(found.async_copies), bool(found.bulk_copies)) == (async_copies, bulk_copies)


@pytest.mark.parametrize("capability", ["8.6", "9.0"])
def test_a_number_of_warps_that_triton_takes_nowhere_ends_a_tuner(built: Built, capability: str) -> None:
    found = judge(built.kernels["3 warps"][0], built.compiled("3 warps", capability), profile(capability), KNOWN)
    assert found == Judgement(fit=Fit.FAILS, reason="num_warps must be a power of 2", tuner_survives=False)


def test_a_fused_kernel_of_hopper_is_slow_on_ampere(built: Built) -> None:
    """It runs: Triton makes pointers of its tensor descriptors, and copies by way of registers, which are too few."""
    spilled, copies = (
        built.figures("relu_squared", "8.6").spill_stores,
        built.figures("relu_squared", "9.0").bulk_copies,
    )
    assert spilled
    assert copies
    assert built.judgement("relu_squared", "8.6") == Judgement(
        fit=Fit.SLOW,
        reason=f"spills {spilled:,} B per thread (the native build for 9.0: 0 B); "
        f"no asynchronous copies (the native build for 9.0 has {copies})",
    )


@pytest.mark.parametrize(
    ("name", "loops"), [("bf16 atomics", "8 compare-and-swap loops"), ("C++ bf16 pairs", "1 compare-and-swap loop")]
)
def test_bf16_atomics_are_loops_below_9(built: Built, name: str, loops: str) -> None:
    reason = f"{loops} (the native build for 9.0 has 1 native atomic)"
    assert built.judgement(name, "8.6") == Judgement(fit=Fit.SLOW, reason=reason)


@pytest.mark.parametrize("name", ["bf16 atomics, one a thread", "C++ bf16, one"])
def test_a_single_bf16_atomic_is_a_loop_on_9_too(built: Built, name: str) -> None:
    """Though its PTX for 9.0 has an instruction for it."""
    assert (built.figures(name, "9.0").atomics, built.figures(name, "9.0").compare_and_swaps) == (0, 1)
    assert built.judgement(name, "8.6").fit is Fit.FITS
