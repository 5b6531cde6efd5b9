"""Kernels that torch.compile generates are on the tape, with Inductor's own autotuner and without a GPU."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.portability.tape.launch import Launch, TritonKernel
from pytest_gpumatrix.portability.tape.tape import Tape
from tests.portability.sample.generated_module import TUNED, USERS, text
from tests.portability.sample_run import launches_of, recorded


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("generated")
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton")}
    return recorded(folder, "--gpu", "9.0", "generated_launches", environ=caches)


def kernels(launches: list[Launch]) -> list[TritonKernel]:
    return [launch.kernel for launch in launches if isinstance(launch.kernel, TritonKernel)]


def blocks(launches: list[Launch]) -> list[object]:
    return [dict(kernel.constants)[3,] for kernel in kernels(launches)]


def test_the_kernel_of_a_worker_process_carries_its_module(generated: Tape) -> None:
    first = kernels(launches_of(generated, "compiled_by_a_worker"))[0]
    assert first.function.text == text(TUNED)
    assert first.function.qualname == first.name == "triton_poi_fused_double_0"
    assert "/" not in first.function.file  # no folder of this machine: equal kernels are equal everywhere
    assert first.signature == {"in_ptr0": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"}
    assert first.attributes == (((0,), [["tt.divisibility", 16]]), ((1,), [["tt.divisibility", 16]]))
    assert first.options == {
        "num_warps": 4,
        "num_stages": 1,
        "debug": True,
        "sanitize_overflow": False,
        "enable_fp_fusion": True,
    }
    assert first.lasting
    assert first.obstacle is None


def test_all_configurations_are_alternatives_and_another_device_may_have_more(generated: Tape) -> None:
    launches = launches_of(generated, "compiled_by_a_worker")
    assert len(set(blocks(launches))) == len(launches) >= 2
    assert len({launch.alternative for launch in launches}) == 1
    alternative = launches[0].alternative
    assert alternative is not None
    assert (alternative.kept, alternative.open) == (True, True)


def test_a_later_test_has_them_too_though_tuning_has_left_one(generated: Tape) -> None:
    first, later = (launches_of(generated, test) for test in ("compiled_by_a_worker", "in_a_later_test"))
    assert [(launch.kernel, launch.alternative) for launch in later] == [
        (launch.kernel, launch.alternative) for launch in first
    ]


def test_configurations_that_are_compiled_within_the_launch_are_the_same(generated: Tape) -> None:
    within = launches_of(generated, "compiled_here_while_it_is_launched")
    assert [launch.kernel for launch in within] == [
        launch.kernel for launch in launches_of(generated, "compiled_by_a_worker")
    ]


def test_a_kernel_of_the_users_own_is_judged_as_it_is(generated: Tape) -> None:
    [launch] = launches_of(generated, "of_the_users")
    assert launch.alternative is None
    [kernel] = kernels([launch])
    assert (kernel.options["num_warps"], kernel.options["num_stages"]) == (8, 3)
    assert kernel.function.text == text(USERS)


def test_one_configuration_that_an_earlier_tuning_chose_is_open(generated: Tape) -> None:
    [launch] = launches_of(generated, "of_the_users_from_the_cache_of_a_tuning")
    assert launch.alternative is not None
    assert launch.alternative.open


def test_what_was_launched_is_among_the_configurations(generated: Tape) -> None:
    assert blocks(launches_of(generated, "found_by_measuring")) == [128, 32]


@pytest.mark.parametrize("test", ["timed_only", "on_the_cpu"])
def test_what_is_timed_while_compiling_or_runs_on_no_gpu_is_no_launch(generated: Tape, test: str) -> None:
    assert launches_of(generated, test) == []
    assert [problem for problem in generated.problems if problem.test == test] == []


def test_a_launch_that_fails_is_recorded_as_such(generated: Tape) -> None:
    assert [launch.raised for launch in launches_of(generated, "refused")] == [True]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("without_its_file", "LookupError: the module that torch.compile generated is on no disk any more"),
        ("of_another_shape", "AttributeError: 'CachingAutotuner' object has no attribute 'custom_kernel'"),
    ],
)
def test_what_cannot_be_recorded_is_a_problem_and_not_the_tests(generated: Tape, test: str, message: str) -> None:
    assert launches_of(generated, test) == []
    assert [problem.message for problem in generated.problems if problem.test == test] == [
        f"a launch of triton_poi_fused_double_0: {message}"
    ]
