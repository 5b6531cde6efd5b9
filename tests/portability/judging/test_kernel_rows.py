from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.judging.kernel_rows import KernelRow, KernelTable
from pytest_gpumatrix.portability.judging.plan import Judged
from pytest_gpumatrix.portability.tape.launch import Alternative, CudaLaunch, Kernel, Launch, digest
from tests.portability.judging.builders import FAILS, FATAL, FITS, KERNEL, SLOW, UNKNOWN, program

A, B = (msgspec.structs.replace(KERNEL, options={"num_warps": number}) for number in (4, 8))


def launch(test: str, kernel: Kernel = A, **fields: Any) -> Launch:
    return Launch(test=test, kernel=kernel, **fields)


def tuned(test: str, kernel: Kernel, kept: bool = True, **fields: Any) -> Launch:
    return launch(test, kernel, alternative=Alternative(group="g", kept=kept, **fields))


def rows(launches: list[Launch], *judgements: tuple[Kernel, Judgement]) -> list[KernelRow]:
    table = KernelTable()
    for each in launches:
        table.add(each, digest(each.kernel))
    judged = {(digest(kernel), "rtx3090"): Judged(judgement=judgement) for kernel, judgement in judgements}
    return list(table.rows(judged, ["rtx3090"]))


def of(row: KernelRow) -> Judgement:
    return row.devices["rtx3090"].judgement


def test_a_kernel_is_one_row_with_its_tests() -> None:
    found = rows([launch("one"), launch("two", B), launch("two"), launch("two", grid=(1,))], (A, FITS), (B, SLOW))
    assert [(list(row.tests), row.configurations, of(row)) for row in found] == [
        (["one", "two"], 1, FITS),
        (["two"], 1, SLOW),
    ]


def test_one_configuration_of_a_tuner_that_would_choose_among_others_there_proves_nothing() -> None:
    [row] = rows([tuned("t", A, open=True)], (A, FAILS))
    assert of(row).fit is Fit.UNKNOWN


@pytest.mark.parametrize(
    ("launches", "first", "second", "fit"),
    [
        ([tuned("t", A), tuned("t", B)], FAILS, FITS, Fit.FITS),
        ([tuned("t", A), tuned("t", B)], FAILS, SLOW, Fit.SLOW),
        ([tuned("t", A), tuned("t", B)], FATAL, FITS, Fit.FAILS),
        ([tuned("t", A), tuned("t", B)], FAILS, FAILS, Fit.FAILS),
        ([tuned("t", A), tuned("t", B)], UNKNOWN, FITS, Fit.UNKNOWN),
        ([tuned("t", A), tuned("t", B, kept=False)], FAILS, FITS, Fit.UNKNOWN),
        ([tuned("t", A, open=True), tuned("t", B, open=True)], FAILS, FAILS, Fit.UNKNOWN),
        # Another test's tuner kept what fits: that does not help the first.
        (
            [tuned("t", A), tuned("t", B, kept=False), tuned("u", A), tuned("u", B)],
            FAILS,
            FITS,
            Fit.UNKNOWN,
        ),
    ],
)
def test_configurations_are_one_row_judged_together(
    launches: list[Launch], first: Judgement, second: Judgement, fit: Fit
) -> None:
    [row] = rows(launches, (A, first), (B, second))
    assert (row.configurations, of(row).fit) == (2, fit)


@pytest.mark.parametrize(("judgement", "fit"), [(FAILS, Fit.UNKNOWN), (FITS, Fit.FITS), (SLOW, Fit.SLOW)])
def test_what_failed_where_it_was_recorded_may_be_meant_to(judgement: Judgement, fit: Fit) -> None:
    [row] = rows([launch("t", raised=True)], (A, judgement))
    assert of(row).fit is fit
    [row] = rows([launch("t", raised=True), launch("u")], (A, judgement))
    assert of(row) == judgement


def test_a_grid_that_no_gpu_takes() -> None:
    [row] = rows([launch("t", grid=(1, 65_536)), launch("t", grid=(9,)), launch("u")], (A, FITS))
    assert of(row).reason == "needs 65,536 blocks in y, every GPU takes 65,535"


def test_what_a_triton_kernel_is() -> None:
    kernel = msgspec.structs.replace(
        KERNEL,
        signature={"x": "*fp16", "pair": ["i32", "constexpr"], "BLOCK": "constexpr"},
        constants=(((1, 1), 5), ((2,), 128), ((7,), None)),
        attributes=(((0,), [["tt.divisibility", 16]]), ((2,), [])),
        options={"num_warps": 8},
    )
    [row] = rows([launch("t", kernel)], (kernel, FITS))
    assert msgspec.to_builtins(row.facts) == {
        "kind": "triton",
        "name": "f",
        "module": "m",
        "file": "m.py",
        "line": 1,
        "source_hash": "0",
        "signature": {"x": "*fp16", "pair": ["i32", "constexpr"], "BLOCK": "constexpr"},
        "constants": {"pair.1": 5, "BLOCK": 128, "?": None},
        "attributes": {"x": [["tt.divisibility", 16]]},
        "arch": None,
        "options": {"num_warps": 8},
        "launch": None,
    }


def test_what_a_cuda_program_is_is_told_without_its_source() -> None:
    shape = CudaLaunch(kernel="k", block=(128, 1, 1), grid=(1, 1, 1), dynamic_shared_memory=16)
    kernels = [
        msgspec.structs.replace(program(launch=shape), source="s" * 100_000),
        msgspec.structs.replace(program(follows_device=True), source="other"),
    ]
    fixed, following = rows([launch("t", kernel) for kernel in kernels], *((kernel, FITS) for kernel in kernels))
    assert (fixed.facts.kind, fixed.facts.name, fixed.facts.file, fixed.facts.arch) == ("cuda", "k", None, "sm_90")
    assert fixed.facts.launch["block"] == [128, 1, 1]
    assert len(fixed.encoded) < 1000
    assert following.facts.arch is None
    assert following.facts.source_hash != fixed.facts.source_hash


@pytest.mark.parametrize("part", ["signature", "options"])
def test_a_huge_part_of_a_kernel_is_told_by_its_size(part: str) -> None:
    kernel = msgspec.structs.replace(KERNEL, **{part: {"x" * 10_000: "i32"}})
    [row] = rows([launch("t", kernel)], (kernel, FITS))
    assert getattr(row.facts, part) == {"too_long": 10_000 + len('{"":"i32"}')}


@pytest.mark.parametrize(("count", "fit"), [(4096, Fit.FITS), (4097, Fit.UNKNOWN)])
def test_more_configurations_than_any_tuner_tries_are_not_judged(count: int, fit: Fit) -> None:
    table = KernelTable()
    for number in range(count):
        table.add(tuned("t", A), f"{number}")
    judged = {(f"{number}", "rtx3090"): Judged(judgement=FITS) for number in range(count)}
    [row] = table.rows(judged, ["rtx3090"])
    assert (row.configurations, of(row).fit) == (4096, fit)
    assert ("more than 4,096 configurations" in of(row).reason) is (fit is Fit.UNKNOWN)
