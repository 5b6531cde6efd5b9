"""What one block takes, at each limit and just over it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.judging.judge import judge
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from tests.portability.judging.builders import (
    FITS,
    KERNEL,
    KNOWN,
    RTX_3090,
    compiled,
    figures,
    launched,
    of_triton,
    program,
)


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
        ({"numbers": {"static_shared_memory": 1024}, "shared_memory": 100_352}, ""),
        (
            {"numbers": {"static_shared_memory": 1024}, "shared_memory": 100_353},
            "needs 101,377 B of shared memory per block, RTX 3090 has 101,376 B",
        ),
        ({"numbers": {"registers": 64}, "threads": 1024}, ""),
        ({"numbers": {"registers": 65}, "threads": 1024}, "needs 73,728 registers per block, RTX 3090 has 65,536"),
        ({"numbers": {"max_threads": 128}}, ""),
        ({"numbers": {"max_threads": 64}}, "needs 128 threads per block, its launch bounds allow 64"),
    ],
)
def test_limits_of_a_block(figures: dict[str, Any], reason: str) -> None:
    found = judge(KERNEL, of_triton(**figures), RTX_3090, KNOWN)
    assert found == (Judgement(fit=Fit.FAILS, reason=reason, tuner_survives=True) if reason else FITS)


def test_a_triton_kernel_whose_code_cannot_be_read_is_unknown_unless_it_fails() -> None:
    found = judge(KERNEL, of_triton(kernels=None), RTX_3090, KNOWN)
    assert found == Judgement(fit=Fit.UNKNOWN, reason="how many registers it takes could not be read")
    assert judge(KERNEL, of_triton(kernels=None, threads=2048), RTX_3090, KNOWN).fit is Fit.FAILS


KERNELS = {
    "k": figures(static_shared_memory=40_960, max_threads=128),
    "many": figures(registers=72),
    "most": figures(registers=104),
    "shaped": figures(required_block=(64, 2, 1)),
    "plain": figures(),
}
FORGOTTEN = (
    "asks for {} B of dynamic shared memory per block, and the kernel was allowed {} B: "
    "raise its MAX_DYNAMIC_SHARED_SIZE_BYTES before the launch"
)


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
        ({"dynamic_shared_memory": 60_416, "shared_memory_opt_in": 60_416}, KERNELS, Fit.FITS, ""),
        (
            {"dynamic_shared_memory": 60_417, "shared_memory_opt_in": 60_417},  # with what the kernel has of itself
            KERNELS,
            Fit.FAILS,
            "needs 101,377 B of shared memory per block, RTX 3090 has 101,376 B",
        ),
        ({"block": (1024, 1, 1)}, KERNELS, Fit.FAILS, "needs 1,024 threads per block, its launch bounds allow 128"),
        ({"kernel": "many", "block": (896, 1, 1)}, KERNELS, Fit.FITS, ""),
        (
            {"kernel": "many", "block": (897, 1, 1)},
            KERNELS,
            Fit.FAILS,
            "needs 73,728 registers per block, RTX 3090 has 65,536",
        ),
        ({"kernel": "most", "block": (512, 1, 1)}, KERNELS, Fit.FITS, ""),
        (
            {"kernel": "most", "block": (513, 1, 1)},  # 17 warps, for which each partition gives as for 20
            KERNELS,
            Fit.FAILS,
            "needs 66,560 registers per block, RTX 3090 has 65,536",
        ),
        ({"block": (2048, 1, 1)}, None, Fit.FAILS, "needs 2,048 threads per block, RTX 3090 takes 1,024"),
        ({}, None, Fit.UNKNOWN, "what k takes could not be read"),
        ({"kernel": "other"}, KERNELS, Fit.UNKNOWN, "what other takes could not be read"),
        (
            {"kernel": None, "block": (64, 2, 1)},
            KERNELS,
            Fit.FITS,
            "",
        ),
        (
            {"kernel": None, "block": (256, 1, 1)},
            KERNELS,
            Fit.UNKNOWN,
            (
                "which kernel of the program was launched is not known; one of them needs 256 threads per block, "
                "its launch bounds allow 128"
            ),
        ),
        ({"kernel": None, "block": (1024, 1, 1)}, {"k": KERNELS["k"], "many": KERNELS["many"]}, Fit.FAILS, "needs"),
    ],
)
def test_a_cuda_launch(shape: dict[str, Any], kernels: dict[str, KernelFigures] | None, fit: Fit, reason: str) -> None:
    found = judge(program(arch="sm_80", launch=launched(**shape)), compiled(kernels=kernels), RTX_3090, KNOWN)
    assert found.fit is fit
    assert found.reason.startswith(reason)
    assert bool(found.reason) == bool(reason)


@pytest.mark.parametrize(
    ("kernel", "dynamic", "allowed", "fit", "reason"),
    [
        # What the driver allows without opt-in is 48 KiB, less what is static: 49,152 and 8,192 B.
        ("plain", 49_152, 49_152, Fit.FITS, ""),
        ("plain", 49_153, 49_152, Fit.FAILS, FORGOTTEN.format("49,153", "49,152")),
        ("k", 8_192, 8_192, Fit.FITS, ""),
        ("k", 8_193, 8_192, Fit.FAILS, FORGOTTEN.format("8,193", "8,192")),
        ("k", 60_416, 60_416, Fit.FITS, ""),
        ("plain", 49_152, None, Fit.FITS, ""),
        ("k", 8_192, None, Fit.FITS, ""),
        ("k", 0, None, Fit.FITS, ""),
        (
            "k",
            8_193,
            None,
            Fit.UNKNOWN,
            (
                "whether the kernel was allowed its 49,153 B of shared memory per block, over the 49,152 B that need "
                "no leave, is not known"
            ),
        ),
        ("k", 60_417, None, Fit.FAILS, "needs 101,377 B of shared memory per block, RTX 3090 has 101,376 B"),
    ],
)
def test_shared_memory_by_opt_in(kernel: str, dynamic: int, allowed: int | None, fit: Fit, reason: str) -> None:
    launch = launched(kernel=kernel, dynamic_shared_memory=dynamic, shared_memory_opt_in=allowed)
    found = judge(program(arch="sm_80", launch=launch), compiled(kernels=KERNELS), RTX_3090, KNOWN)
    assert found == Judgement(fit=fit, reason=reason)


@pytest.mark.parametrize(
    ("kernel", "block", "reason"),
    [
        ("plain", (1024, 1, 1), ""),
        ("plain", (1, 1024, 1), ""),
        ("plain", (1, 1, 64), ""),
        ("plain", (1, 1, 65), "needs 65 threads per block in z, every GPU takes 64"),
        ("plain", (32, 33, 1), "needs 1,056 threads per block, RTX 3090 takes 1,024"),
        ("plain", (32, 0, 1), "is launched in a grid of 1x1x1 blocks of 32x0x1 threads: none at all"),
        ("plain", (-1, 1, 1), "is launched in a grid of 1x1x1 blocks of -1x1x1 threads: none at all"),
        ("shaped", (64, 2, 1), ""),
        ("shaped", (64, 1, 1), "is launched in blocks of 64x1x1 threads, its code requires 64x2x1"),
        ("shaped", (128, 1, 1), "is launched in blocks of 128x1x1 threads, its code requires 64x2x1"),
        ("shaped", (2, 64, 1), "is launched in blocks of 2x64x1 threads, its code requires 64x2x1"),
        ("k", (1, 1, 64), ""),
        ("k", (8, 16, 1), ""),
        ("k", (8, 17, 1), "needs 136 threads per block, its launch bounds allow 128"),
    ],
)
def test_the_shape_of_a_block(kernel: str, block: tuple[int, int, int], reason: str) -> None:
    launch = launched(kernel=kernel, block=block)
    found = judge(program(arch="sm_80", launch=launch), compiled(kernels=KERNELS), RTX_3090, KNOWN)
    assert found == (Judgement(fit=Fit.FAILS, reason=reason) if reason else FITS)


def test_a_triton_kernel_launched_with_other_threads_than_its_code_requires() -> None:
    for required, fit in (((128, 1, 1), Fit.FITS), ((64, 1, 1), Fit.FAILS)):
        assert judge(KERNEL, of_triton({"required_block": required}), RTX_3090, KNOWN).fit is fit
