"""How many blocks an SM holds, held against NVIDIA's own calculator: cuda_occupancy.h, which Triton brings along."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.profile import ArchitectureLimits
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.judging.residence import blocks_per_sm, registers_of_block
from tests.portability.judging.builders import figures

LIMITS = tuple(catalogue.load().architectures.values())
REGISTERS = (8, 32, 33, 64, 72, 104, 128, 255)
THREADS = (1, 32, 33, 96, 128, 257, 513, 544, 1000, 1024)
SHARED = (0, 1, 1024, 16_384, 32_768, 49_152, 60_000, 101_376, 115_712, 115_713, 166_912, 232_448)
BARRIERS = (0, 1, 3, 16)
CALCULATOR = r"""
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cuda_occupancy.h"

int main(void) {
    cudaOccDeviceProp device;
    cudaOccFuncAttributes kernel;
    cudaOccDeviceState state = {CACHE_PREFER_NONE, SHAREDMEM_CARVEOUT_DEFAULT};
    cudaOccResult result;
    size_t dynamic;
    int threads;
    memset(&device, 0, sizeof device);
    memset(&kernel, 0, sizeof kernel);
    device.warpSize = 32;
    device.numSms = 1;
    device.sharedMemPerBlock = 49152;
    kernel.maxThreadsPerBlock = INT_MAX;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    while (scanf("%d %d %d %d %d %d %zu %zu %zu %d %zu %d %d", &device.computeMajor, &device.computeMinor,
                 &device.maxThreadsPerBlock, &device.maxThreadsPerMultiprocessor, &device.regsPerBlock,
                 &device.regsPerMultiprocessor, &device.sharedMemPerMultiprocessor, &device.sharedMemPerBlockOptin,
                 &device.reservedSharedMemPerBlock, &threads, &dynamic, &kernel.numRegs,
                 &kernel.numBlockBarriers) == 13) {
        kernel.maxDynamicSharedSizeBytes = dynamic;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, dynamic) != 0)
            return 1;
        printf("%d\n", result.activeBlocksPerMultiprocessor);
    }
    return 0;
}
"""


@pytest.fixture(scope="session")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    triton = pytest.importorskip("triton")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("calculator")
    (folder / "main.c").write_text(CALCULATOR)
    include = Path(triton.__file__).parent / "backends" / "nvidia" / "include"
    subprocess.run([compiler, f"-I{include}", "main.c", "-o", "calculator"], cwd=folder, check=True)
    return folder / "calculator"


def theirs(calculator: Path, limits: ArchitectureLimits, questions: list[tuple[int, int, KernelFigures]]) -> list[int]:
    device = [
        limits.capability.major,
        limits.capability.minor,
        limits.threads_per_block,
        limits.threads_per_sm,
        limits.registers_per_block,
        limits.registers_per_sm,
        limits.shared_memory_per_sm,
        limits.shared_memory_per_block,
        1024 if limits.capability.major >= 8 else 0,
    ]
    lines = [
        " ".join(map(str, [*device, threads, shared, kernel.registers, kernel.barriers]))
        for threads, shared, kernel in questions
    ]
    told = subprocess.run([calculator], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    return [int(line) for line in told.split()]


@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: str(limits.capability))
def test_an_sm_holds_as_many_blocks_as_nvidias_calculator_says(calculator: Path, limits: ArchitectureLimits) -> None:
    questions = [
        (threads, shared, figures(registers=registers, barriers=barriers))
        for threads, shared, registers, barriers in itertools.product(THREADS, SHARED, REGISTERS, BARRIERS)
    ]
    answers = theirs(calculator, limits, questions)
    assert len(answers) == len(questions)
    assert len(set(answers)) > 5
    for (threads, shared, kernel), expected in zip(questions, answers, strict=True):
        one_fits = (
            shared <= limits.shared_memory_per_block
            and registers_of_block(threads, kernel.registers) <= limits.registers_per_block
        )
        found = blocks_per_sm(threads, shared, kernel, limits) if one_fits else 0
        assert found == expected, (threads, shared, kernel)


@pytest.mark.parametrize(
    ("device", "threads", "shared", "kernel", "blocks"),
    [
        ("h200", 1024, 0, {}, 2),
        ("h200", 32, 0, {}, 32),
        ("h200", 33, 0, {}, 32),
        ("h200", 96, 0, {}, 21),  # of 64 warps
        ("h200", 256, 0, {"registers": 128}, 2),
        ("h200", 1, 115_712, {}, 2),  # with 1 KiB more each, half of 228 KiB
        ("h200", 1, 115_713, {}, 1),
        ("h200", 32, 0, {"barriers": 16}, 4),
        ("rtx-5090", 32, 0, {"barriers": 16}, 1),
        ("rtx-3090", 32, 0, {"barriers": 16}, 16),
        ("t4", 32, 4_096, {}, 16),  # nothing is kept of a block's shared memory
        ("t4", 32, 4_097, {}, 15),
    ],
)
def test_what_an_sm_holds(device: str, threads: int, shared: int, kernel: dict[str, int], blocks: int) -> None:
    limits = catalogue.load().resolve(device).limits
    assert blocks_per_sm(threads, shared, figures(**kernel), limits) == blocks
