"""What is launched around an autotuner is on the tape, and what it times is there once, as alternatives."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from pytest_gpumatrix.portability.recording.autotuner import cheap_key
from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Launch, Problem, TritonKernel
from pytest_gpumatrix.portability.tape.tape import Tape
from tests.portability.sample_run import launches_of, recorded

TESTS = [f"tuning.{test}" for test in ("nothing_else", "pre_hook", "grid", "nested_tuner", "replaced_configurations")]


@pytest.fixture(scope="module", params=["interpreted", "native"])
def tape(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tape:
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "interpreted":
        return recorded(folder, *TESTS, interpret=True)
    return recorded(folder, "--gpu", "9.0", *TESTS, environ={"TRITON_CACHE_DIR": str(folder / "triton")})


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("nothing_else", {("_store", True): 2}),
        ("pre_hook", {("_store", True): 2, ("other", False): 1}),
        ("grid", {("_store", True): 2, ("other", False): 1}),
        ("nested_tuner", {("_store", True): 2, ("nested", True): 2}),
        # One configuration is no alternative; then there are two.
        ("replaced_configurations", {("_store", False): 1, ("_store", True): 2}),
    ],
)
def test_all_kernels_around_a_tuner_are_recorded(tape: Tape, test: str, expected: dict[tuple[str, bool], int]) -> None:
    assert tape.problems == ()
    found = Counter(
        (launch.kernel.function.qualname, launch.alternative is not None)
        for launch in launches_of(tape, test)
        if isinstance(launch.kernel, TritonKernel)
    )
    assert found == expected


def test_a_grid_that_no_gpu_runs_is_recorded_beside_one_that_fits(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    tape = recorded(tmp_path, "tuning.larger_grids", interpret=True)
    assert [launch.grid for launch in launches_of(tape, "larger_grids")] == [(1,), (1, 70_000)]


def test_the_alignment_of_an_argument_makes_another_launch() -> None:
    def tensor(address: int) -> SimpleNamespace:
        return SimpleNamespace(dtype="float32", data_ptr=lambda: address)

    assert cheap_key((tensor(32),)) == cheap_key((tensor(64),))
    assert cheap_key((tensor(32),)) != cheap_key((tensor(36),))


def test_a_compiled_kernel_at_the_address_of_another_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = object()

    class JITFunction:
        def run(self) -> object:
            return compiled

    module = ModuleType("triton.runtime.jit")
    vars(module)["JITFunction"] = JITFunction
    monkeypatch.setitem(sys.modules, module.__name__, module)
    lines: list[Launch | Problem] = []
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    with recorder.during("test"):
        recorder.seen_objects[id(compiled)] = "another"
        JITFunction().run()
    recorder.uninstall()
    assert len(lines) == 1  # a problem, for nothing is known of such a function: it was looked at


def test_launches_of_several_threads_are_written_one_after_another() -> None:
    held = []
    recorder = Recorder(lambda _: held.append(recorder._lock.locked()), rootdir=Path.cwd())
    program = CudaProgram(
        name="k", source="code", code_type="c++", target_type="cubin", arch="", follows_device=True, options={}
    )
    with recorder.during("test"):
        recorder.note(program)
        recorder.note_problem("message")
    assert held == [True, True]
