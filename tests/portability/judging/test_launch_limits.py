"""Clusters, grids and cooperative launches, however they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.judging.judge import judge, judge_launches
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import Launch
from tests.portability.judging.builders import (
    FAILS,
    FITS,
    KERNEL,
    KNOWN,
    RTX_3090,
    UNKNOWN,
    compiled,
    figures,
    launched,
    of_triton,
    program,
)

H200 = catalogue.load().resolve("h200")
OVER_PORTABLE = "a cluster of 16 blocks is over the 8 that every GPU with clusters takes"


@pytest.mark.parametrize(
    ("device", "blocks", "fit", "reason"),
    [
        ("rtx-3090", 1, Fit.FITS, ""),
        ("rtx-3090", 2, Fit.FAILS, "needs thread block clusters (of 2), RTX 3090 has none"),
        ("h100-sxm", 16, Fit.FITS, ""),
        ("h100-sxm", 32, Fit.FAILS, "needs clusters of 32 blocks, H100 SXM takes 16"),
        ("b200", 16, Fit.FITS, ""),
        ("rtx-5090", 8, Fit.FITS, ""),
        ("rtx-5090", 16, Fit.UNKNOWN, OVER_PORTABLE),
    ],
)
def test_clusters(device: str, blocks: int, fit: Fit, reason: str) -> None:
    """However they are asked for: by Triton's launch, by a CUDA launch, or by the code itself."""
    profile = catalogue.load().resolve(device)
    expected = Judgement(fit=fit, reason=reason)
    assert judge(KERNEL, of_triton(blocks_per_cluster=blocks), profile, KNOWN) == expected
    cluster = (blocks, 1, 1)
    for asked, required in ((cluster, None), (None, cluster), (cluster, cluster)):
        launch = launched(grid=(32, 1, 1), cluster=asked, non_portable_clusters=True)
        result = compiled(kernels={"k": figures(cluster=required)})
        assert judge(program(follows_device=True, launch=launch), result, profile, KNOWN) == expected


@pytest.mark.parametrize(
    ("blocks", "allowed", "fit", "reason"),
    [
        (8, None, Fit.FITS, ""),
        (8, False, Fit.FITS, ""),
        (9, True, Fit.FITS, ""),
        (
            9,
            False,
            Fit.FAILS,
            (
                "asks for clusters of 9 blocks, and the kernel was allowed 8: set its "
                "NON_PORTABLE_CLUSTER_SIZE_ALLOWED before the launch"
            ),
        ),
        (
            9,
            None,
            Fit.UNKNOWN,
            "whether the kernel was allowed its clusters of 9 blocks, over the 8 that need no leave, is not known",
        ),
        (17, True, Fit.FAILS, "needs clusters of 17 blocks, H200 takes 16"),
        (17, None, Fit.FAILS, "needs clusters of 17 blocks, H200 takes 16"),
    ],
)
def test_more_blocks_in_a_cluster_than_are_portable(blocks: int, allowed: bool | None, fit: Fit, reason: str) -> None:
    cluster = (1, blocks, 1)
    for asked, required in ((cluster, None), (None, cluster)):
        launch = launched(grid=cluster, cluster=asked, non_portable_clusters=allowed)
        result = compiled(kernels={"k": figures(cluster=required)})
        found = judge(program(launch=launch), result, H200, KNOWN)
        assert found == Judgement(fit=fit, reason=reason)


KERNELS = {
    "plain": figures(),
    "fixed": figures(cluster=(2, 2, 1), max_cluster=8, needs_cluster=True),
    "some": figures(needs_cluster=True),
    "bounded": figures(max_cluster=4),
    "counted": figures(cluster=(2, 1, 1), required_block=(128, 1, 1), blocks_are_clusters=True),
}


@pytest.mark.parametrize(
    ("kernel", "cluster", "grid", "reason"),
    [
        ("fixed", None, (4, 4, 1), ""),
        ("fixed", (2, 2, 1), (4, 4, 1), ""),
        (
            "fixed",
            (4, 1, 1),
            (4, 4, 1),
            "is launched in clusters of 4x1x1 blocks, its __cluster_dims__ make it 2x2x1",
        ),
        (
            "fixed",
            (1, 1, 1),
            (4, 4, 1),
            "is launched in clusters of 1x1x1 blocks, its __cluster_dims__ make it 2x2x1",
        ),
        ("some", (2, 1, 1), (4, 1, 1), ""),
        ("some", None, (4, 1, 1), "is launched without clusters, its __cluster_dims__ ask for some"),
        ("bounded", (4, 1, 1), (4, 1, 1), ""),
        ("bounded", (4, 2, 1), (4, 2, 1), "is launched in clusters of 8, its launch bounds allow 4"),
        # Clusters divide the grid, in each dimension.
        ("fixed", None, (4, 3, 1), "is launched in a grid of 4x3x1 blocks, which clusters of 2x2x1 do not divide"),
        ("fixed", None, (3, 4, 1), "is launched in a grid of 3x4x1 blocks, which clusters of 2x2x1 do not divide"),
        ("plain", (3, 1, 1), (6, 1, 1), ""),
        ("plain", (3, 1, 1), (4, 3, 3), "is launched in a grid of 4x3x3 blocks, which clusters of 3x1x1 do not divide"),
        ("counted", None, (3, 1, 1), ""),  # then the grid is one of clusters
        ("plain", None, (0, 1, 1), "is launched in a grid of 0x1x1 blocks of 128x1x1 threads: none at all"),
        ("plain", (0, 1, 1), (1, 1, 1), "is launched in a grid of 1x1x1 blocks of 128x1x1 threads: none at all"),
    ],
)
def test_what_the_code_and_the_launch_say_of_clusters(
    kernel: str, cluster: tuple[int, int, int] | None, grid: tuple[int, int, int], reason: str
) -> None:
    launch = launched(kernel=kernel, grid=grid, cluster=cluster)
    found = judge(program(launch=launch), compiled(kernels=KERNELS), H200, KNOWN)
    assert found == (Judgement(fit=Fit.FAILS, reason=reason) if reason else FITS)


def test_which_kernel_of_a_program_needs_clusters_is_not_guessed() -> None:
    result = compiled(kernels={"k": figures(), "cluster": figures(cluster=(4, 1, 1))})
    launch = launched(kernel=None, grid=(16, 1, 1))
    assert judge(program(follows_device=True, launch=launch), result, RTX_3090, KNOWN) == Judgement(
        fit=Fit.UNKNOWN,
        reason="which kernel of the program was launched is not known; one of them needs thread block clusters "
        "(of 4), RTX 3090 has none",
    )


HOLDS = "is a cooperative launch of {:,} blocks, H200 holds {:,} at once ({} on each of its 132 SMs)"


@pytest.mark.parametrize(
    ("shape", "kernel", "fit", "reason"),
    [
        ({"blocks": 264, "threads": 1024}, {}, Fit.FITS, ""),
        ({"blocks": 265, "threads": 1024}, {}, Fit.FAILS, HOLDS.format(265, 264, 2)),
        ({"blocks": 4224, "threads": 32}, {}, Fit.FITS, ""),
        ({"blocks": 4225, "threads": 32}, {}, Fit.FAILS, HOLDS.format(4225, 4224, 32)),
        ({"blocks": 132, "shared": 232_448}, {}, Fit.FITS, ""),
        ({"blocks": 133, "shared": 232_448}, {}, Fit.FAILS, HOLDS.format(133, 132, 1)),
        ({"blocks": 133, "shared": 4}, {"static_shared_memory": 232_444}, Fit.FAILS, HOLDS.format(133, 132, 1)),
        ({"blocks": 265, "threads": 256}, {"registers": 128}, Fit.FAILS, HOLDS.format(265, 264, 2)),
        ({"blocks": 529, "threads": 32}, {"barriers": 16}, Fit.FAILS, HOLDS.format(529, 528, 4)),
        (
            {"blocks": 2},
            {"cluster": (2, 1, 1)},
            Fit.UNKNOWN,
            "how many clusters H200 holds at once, and so whether a cooperative launch of 2 blocks fits, is not known",
        ),
    ],
)
def test_blocks_that_must_all_be_resident_at_once(
    shape: dict[str, int], kernel: dict[str, Any], fit: Fit, reason: str
) -> None:
    shared = shape.get("shared", 0)
    launch = launched(
        grid=(shape["blocks"], 1, 1),
        block=(shape.get("threads", 128), 1, 1),
        dynamic_shared_memory=shared,
        shared_memory_opt_in=shared,
        cooperative=True,
    )
    result = compiled(kernels={"k": figures(**kernel)})
    assert judge(program(launch=launch), result, H200, KNOWN) == Judgement(fit=fit, reason=reason)
    alone = judge(program(launch=launched(grid=launch.grid)), compiled(kernels={"k": figures()}), H200, KNOWN)
    assert alone == FITS  # so many blocks one after another


def test_how_many_are_resident_on_an_unknown_number_of_sms_is_not_known() -> None:
    unlisted = replace(H200, sm_count=None)
    launch = launched(grid=(2, 1, 1), cooperative=True)
    assert judge(program(launch=launch), compiled(kernels={"k": figures()}), unlisted, KNOWN) == Judgement(
        fit=Fit.UNKNOWN,
        reason="how many SMs H200 has, and so whether a cooperative launch of 2 blocks fits, is not known",
    )


def test_the_grids_of_a_cooperative_triton_kernel_are_not_all_known() -> None:
    together = msgspec.structs.replace(KERNEL, options={"launch_cooperative_grid": True})
    assert judge(together, of_triton(), H200, KNOWN) == Judgement(
        fit=Fit.UNKNOWN,
        reason="its blocks must all be resident at once, and of a Triton kernel not all grids are known",
    )
    assert judge(together, of_triton(threads=2048), H200, KNOWN).fit is Fit.FAILS


@pytest.mark.parametrize(
    ("grid", "reason"),
    [
        ((2**31 - 1, 65_535, 65_535), ""),
        ((1,), ""),
        (None, ""),
        ((2**31,), "needs 2,147,483,648 blocks in x, every GPU takes 2,147,483,647"),
        ((1, 65_536), "needs 65,536 blocks in y, every GPU takes 65,535"),
        ((1, 1, 65_536), "needs 65,536 blocks in z, every GPU takes 65,535"),
    ],
)
def test_a_grid_that_no_gpu_takes(grid: tuple[int, ...] | None, reason: str) -> None:
    for before in (FITS, UNKNOWN):
        [(_, found)] = judge_launches([(Launch(test="t", kernel=KERNEL, grid=grid), before)])
        assert found == (Judgement(fit=Fit.FAILS, reason=reason) if reason else before)
    [(_, found)] = judge_launches([(Launch(test="t", kernel=KERNEL, grid=grid), FAILS)])
    assert found == FAILS


@pytest.mark.parametrize(
    ("grid", "reason"),
    [
        ((2**31 - 1, 65_535, 65_535), ""),
        ((2**31, 1, 1), "needs 2,147,483,648 blocks in x, every GPU takes 2,147,483,647"),
        ((1, 65_536, 1), "needs 65,536 blocks in y, every GPU takes 65,535"),
        ((1, 1, 65_536), "needs 65,536 blocks in z, every GPU takes 65,535"),
    ],
)
def test_the_grid_of_the_cuda_launch_itself(grid: tuple[int, int, int], reason: str) -> None:
    kernel = program(follows_device=True, launch=launched(grid=grid))
    found = judge(kernel, compiled(kernels={"k": figures()}), RTX_3090, KNOWN)
    assert found == Judgement(fit=Fit.FAILS if reason else Fit.FITS, reason=reason)
