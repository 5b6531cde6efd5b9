"""Real compilations for GPUs that are not here, held against known truths."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from pytest_gpumatrix.portability.judging.judge import judge_launches
from pytest_gpumatrix.portability.judging.judgement import Fit, Judgement
from pytest_gpumatrix.portability.tape.launch import Launch
from pytest_gpumatrix.portability.tape.tape import Tape
from tests.portability.conftest import Compiler
from tests.portability.nvrtc_words import NEEDS_89
from tests.portability.sample_run import SAMPLE, launches_of, recorded

Judged = Mapping[tuple[str, str], list[tuple[Launch, Judgement]]]

TOO_LARGE = "needs 147,456 B of shared memory per block, {} has 101,376 B"
# Measured: a matrix product of 128 x 256 x 64 in four stages, as it is launched.
MATMUL = {
    "a100-80gb": (Fit.FITS, ""),
    "rtx-3090": (Fit.FAILS, TOO_LARGE.format("RTX 3090")),
    "rtx-4090": (Fit.FAILS, TOO_LARGE.format("RTX 4090")),
    "h100-sxm": (Fit.FITS, ""),
    "b200": (Fit.FITS, ""),
    "rtx-5090": (Fit.FAILS, TOO_LARGE.format("RTX 5090")),
}
FAR = ("first_of_two", "second_of_two", "hidden", "asks_for_hopper", "constant_off", "constant_on")
SMALL = ("aligned", "fp8", "clusters", "misspelt_option", "tuned", "namespaced", "local", *FAR)


@pytest.fixture(scope="session")
def matmul(interpreted: Tape, compiler: Compiler) -> Judged:
    return compiler.judge(interpreted, ("matmul",), tuple(MATMUL))


@pytest.fixture(scope="session")
def small(interpreted: Tape, compiler: Compiler) -> Judged:
    return compiler.judge(interpreted, SMALL, ("rtx-3090", "h100-sxm"))


@pytest.mark.parametrize("device", MATMUL)
def test_block_sizes_that_fit_one_gpu_do_not_fit_another(matmul: Judged, device: str) -> None:
    [(_, judgement)] = matmul["matmul", device]
    assert (judgement.fit, judgement.reason) == MATMUL[device]


@pytest.mark.parametrize(
    ("test", "device", "fit", "reason"),
    [
        ("aligned", "rtx-3090", Fit.FITS, ""),
        ("fp8", "rtx-3090", Fit.FAILS, "type fp8e4nv not supported in this architecture"),
        ("fp8", "h100-sxm", Fit.FITS, ""),
        ("clusters", "rtx-3090", Fit.FAILS, "num_ctas > 1 requires NVIDIA SM90+"),
        ("clusters", "h100-sxm", Fit.FITS, ""),
        ("misspelt_option", "h100-sxm", Fit.FAILS, "Keyword argument num_wraps was specified but unrecognised"),
        ("namespaced", "rtx-3090", Fit.FITS, ""),
        ("local", "h100-sxm", Fit.UNKNOWN, "cannot be rebuilt: defined inside a function"),
        ("first_of_two", "rtx-3090", Fit.FAILS, "type fp8e4nv not supported in this architecture"),
        ("second_of_two", "rtx-3090", Fit.FITS, ""),
        ("hidden", "rtx-3090", Fit.UNKNOWN, "cannot be rebuilt: cannot be found again: far.py has no lost that begins"),
        ("asks_for_hopper", "rtx-3090", Fit.FITS, ""),
        ("asks_for_hopper", "h100-sxm", Fit.FAILS, "the branch of 9.0 is broken"),
        ("constant_off", "rtx-3090", Fit.FITS, ""),
        ("constant_on", "rtx-3090", Fit.UNKNOWN, "cannot be rebuilt: sources differ: far.py"),
    ],
)
def test_triton(small: Judged, test: str, device: str, fit: Fit, reason: str) -> None:
    [(_, judgement)] = small[test, device]
    assert judgement.fit is fit
    assert judgement.reason.startswith(reason)
    assert bool(judgement.reason) == bool(reason)


def test_a_tuned_kernel_fits_if_one_of_its_configurations_does(small: Judged) -> None:
    first, second = (judgement for _, judgement in small["tuned", "rtx-3090"])
    assert first.reason == "needs 2,048 threads per block, RTX 3090 takes 1,024"
    assert second.fit is Fit.FITS
    [(_, together)] = judge_launches(small["tuned", "rtx-3090"])
    assert together.fit is Fit.FITS


@pytest.mark.parametrize(
    ("test", "device", "reason"),
    [
        (
            "e5m2_for_90",
            "rtx-3090",
            f"no kernel image for 8.6: built for sm_90 only; rebuilding for sm_86 fails too: {NEEDS_89}",
        ),
        ("e5m2_for_90", "h100-sxm", None),
        ("plain_for_90", "rtx-3090", "no kernel image for 8.6: built for sm_90 only; it would build for sm_86"),
        ("plain_for_80", "rtx-3090", None),
        ("plain_for_80", "h100-sxm", "no kernel image for 9.0: built for sm_80 only; it would build for sm_90"),
        ("setmaxnreg_for_90a", "h100-sxm", None),
        ("setmaxnreg_for_90", "h100-sxm", "Instruction 'setmaxnreg.dec' not supported on .target 'sm_90'"),
        (
            "too_much_static",
            "h100-sxm",
            "Entry function 'kernel' uses too much shared data (0x13880 bytes, 0xc000 max)",
        ),
    ],
)
def test_cuda_code_of_a_fixed_architecture(
    programs: Tape, compiler: Compiler, test: str, device: str, reason: str | None
) -> None:
    [(_, judgement)] = compiler.judge(programs, (test,), (device,))[test, device]
    fit = Fit.FITS if reason is None else Fit.FAILS
    assert judgement == Judgement(fit=fit, reason=reason or "")


def test_cuda_code_of_the_running_gpus_architecture_is_built_for_each_device(
    tmp_path: Path, compiler: Compiler
) -> None:
    pytest.importorskip("cuda.core")
    tape = recorded(tmp_path, "--gpu", "9.0", "programs.plain_for_90", "programs.e5m2_for_90", "programs.plain_for_80")
    judged = compiler.judge(tape, ("plain_for_90", "e5m2_for_90", "plain_for_80"), ("rtx-3090",))
    assert {test: [judgement.reason for _, judgement in found] for (test, _), found in judged.items()} == {
        "plain_for_90": [""],
        "e5m2_for_90": [NEEDS_89],
        "plain_for_80": [""],
    }
    assert [launch.kernel.name for launch in tape.launches] == ["kernel"] * 3  # by its source: it was given no name


def test_a_crash_of_the_compiler_costs_that_kernel_only(interpreted: Tape, compiler: Compiler) -> None:
    judged = compiler.judge(interpreted, ("crashing", "aligned", "namespaced"), ("rtx-4090",))
    [(_, crashed)] = judged["crashing", "rtx-4090"]
    assert crashed == Judgement(fit=Fit.FAILS, reason="the compiler crashed (SIGABRT)")
    assert [judgement.fit for test in ("aligned", "namespaced") for _, judgement in judged[test, "rtx-4090"]] == [
        Fit.FITS,
        Fit.FITS,
    ]


def test_what_was_compiled_before_comes_from_the_cache(matmul: Judged, interpreted: Tape, compiler: Compiler) -> None:
    steps: list[tuple[int, int]] = []
    # No budget: nothing can be compiled, so what is known was kept.
    again = compiler.judge(
        interpreted,
        ("matmul",),
        tuple(MATMUL),
        budget_seconds=0.0,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert again == matmul
    assert steps == [(6, 6)]


def test_a_cache_that_cannot_be_written_costs_a_note(interpreted: Tape, compiler: Compiler, tmp_path: Path) -> None:
    notes: list[str] = []
    blocked = tmp_path / "cache"
    blocked.write_text("a file where the folder should be")
    judged = compiler.judge(interpreted, ("aligned",), ("rtx-3090", "h100-sxm"), cache_dir=blocked, note=notes.append)
    assert {judgement.fit for found in judged.values() for _, judgement in found} == {Fit.FITS}
    [note] = notes
    assert note.startswith(f"what was compiled is not kept for the next run: {blocked} cannot be written: ")


def test_what_the_budget_does_not_reach_is_unknown(interpreted: Tape, compiler: Compiler, tmp_path: Path) -> None:
    judged = compiler.judge(interpreted, ("aligned",), ("rtx-3090",), cache_dir=tmp_path, budget_seconds=0.0)
    [(_, judgement)] = judged["aligned", "rtx-3090"]
    assert judgement == Judgement(fit=Fit.UNKNOWN, reason="not compiled within the budget of 0 s")


def test_sources_that_changed_are_not_judged(interpreted: Tape, compiler: Compiler, tmp_path: Path) -> None:
    changed = tmp_path / "sample"
    shutil.copytree(SAMPLE, changed)
    helper = changed / "helpers.py"
    helper.write_text(helper.read_text().replace("constexpr(3)", "constexpr(4)"))
    search = tuple(path.replace(str(SAMPLE), str(changed)) for path in interpreted.header.sys_path)
    header = msgspec.structs.replace(interpreted.header, rootdir=str(changed), sys_path=search)
    tape = Tape(header=header, launches=tuple(launches_of(interpreted, "aligned")), problems=())
    [(_, judgement)] = compiler.judge(tape, ("aligned",), ("rtx-3090",), cache_dir=tmp_path / "cache")[
        "aligned", "rtx-3090"
    ]
    assert judgement == Judgement(
        fit=Fit.UNKNOWN,
        reason="cannot be rebuilt: sources differ: kernels.py, or what scale calls, has changed",
    )
