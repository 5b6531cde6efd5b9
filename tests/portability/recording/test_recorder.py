"""What a test launches is on the tape: interpreted, native, tuned, cached, through cuda-core."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Launch, Problem, TritonKernel
from pytest_gpumatrix.portability.tape.sources import file_hash
from pytest_gpumatrix.portability.tape.tape import Tape, read_tape
from tests.portability.sample_run import SAMPLE, launches_of, record, recorded

# Each kind of specialisation, and quick to compile.
NATIVE = ("aligned", "misaligned", "scalar_of_one", "fp8", "tuned", "pruned", "namespaced", "local")


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tape, list[dict[str, Any]], Path]:
    """A tape of a GPU, what Triton itself says that it compiled, and Triton's cache.

    Triton is imported before the recorder is installed; for ``interpreted`` it is imported after.
    """
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("native")
    tests = [f"launches.{test}" for test in NATIVE]
    compiled = record(folder / "tape", "--late", "--gpu", "9.0", *tests, TRITON_CACHE_DIR=str(folder / "triton"))
    return read_tape(folder / "tape"), compiled, folder / "triton"


def triton_kernel(launch: Launch) -> TritonKernel:
    assert isinstance(launch.kernel, TritonKernel)
    return launch.kernel


def specialisation(tape: Tape, test: str) -> TritonKernel:
    [launch] = launches_of(tape, test)
    return triton_kernel(launch)


ALIGNED = [["tt.divisibility", 16]]


def hints(kernel: TritonKernel) -> dict[str, Any]:
    names = list(kernel.signature)
    return {names[path[0]]: attribute for path, attribute in kernel.attributes if attribute}


def test_the_specialisation_of_a_launch(interpreted: Tape) -> None:
    kernel = specialisation(interpreted, "aligned")
    assert list(kernel.signature.items()) == [
        ("x", "*fp32"),
        ("out", "*fp32"),
        ("n", "i32"),
        ("factor", "i32"),
        ("BLOCK", "constexpr"),
    ]
    assert kernel.constants == (((4,), 64),)
    assert hints(kernel) == {"x": ALIGNED, "out": ALIGNED, "n": ALIGNED}
    assert (kernel.function.module, kernel.function.qualname, kernel.function.file) == (
        "kernels",
        "scale",
        "kernels.py",
    )
    # What it calls is in the second: whoever reads the tape compares both with its own.
    assert kernel.function.files == {name: file_hash(SAMPLE / name) for name in ("kernels.py", "helpers.py")}


def test_a_misaligned_view_is_misaligned_on_the_tape(interpreted: Tape) -> None:
    assert hints(specialisation(interpreted, "misaligned")) == {"out": ALIGNED, "n": ALIGNED}


def test_a_scalar_of_one_is_a_constant(interpreted: Tape) -> None:
    kernel = specialisation(interpreted, "scalar_of_one")
    assert kernel.signature["factor"] == "constexpr"
    assert ((3,), 1) in kernel.constants


def test_options_and_grid_are_those_of_the_launch(interpreted: Tape) -> None:
    [launch] = launches_of(interpreted, "matmul")
    assert triton_kernel(launch).options == {"num_warps": 8, "num_stages": 4}
    assert launch.grid == (1, 1)


def test_a_launch_is_recorded_once_per_test(interpreted: Tape) -> None:
    assert len(launches_of(interpreted, "scalar_of_one")) == 1  # it launches twice
    assert launches_of(interpreted, "nothing") == []


@pytest.mark.parametrize("test", NATIVE)
def test_the_interpreter_gives_the_native_specialisation(
    native: tuple[Tape, list[dict[str, Any]], Path], interpreted: Tape, test: str
) -> None:
    found = launches_of(native[0], test)
    assert found
    # A computed grid is None in both; the kernels' sources and all else are equal.
    assert found == launches_of(interpreted, test)


def test_the_specialisation_is_what_triton_itself_compiles(native: tuple[Tape, list[dict[str, Any]], Path]) -> None:
    tape, compiled, _ = native
    ours = [
        {
            "name": f"{kernel.function.module}.{kernel.function.qualname}",
            "signature": kernel.signature,
            "constants": [(list(path), value) for path, value in kernel.constants],
            "attributes": [(list(path), attribute) for path, attribute in kernel.attributes],
        }
        for launch in tape.launches
        if launch.alternative is None or launch.alternative.kept
        for kernel in [triton_kernel(launch)]
    ]
    theirs = [
        {
            "name": told["name"],
            "signature": told["signature"],
            "constants": [
                (key, {"dtype": value} if value == "fp8e4nv" else value)
                for key, value in zip(told["constant_keys"], told["constant_vals"], strict=True)
            ],
            "attributes": list(zip(told["attrs_keys"], told["attrs_vals"], strict=True)),
        }
        for told in compiled  # by a hook of the user's own, which goes on working
    ]
    assert sorted(ours, key=repr) == sorted(theirs, key=repr)


def test_launches_served_from_tritons_caches_are_recorded(
    native: tuple[Tape, list[dict[str, Any]], Path], tmp_path: Path
) -> None:
    """From the disk in a new process, and from memory in the second of two tests that launch alike."""
    tape, _, cache = native
    again = tmp_path / "tape"
    record(again, "--gpu", "9.0", "launches.aligned", "launches.aligned_again", TRITON_CACHE_DIR=str(cache))
    found = read_tape(again)
    assert launches_of(found, "aligned") == launches_of(tape, "aligned")
    assert [launch.kernel for launch in launches_of(found, "aligned_again")] == [
        launch.kernel for launch in launches_of(tape, "aligned")
    ]


def test_an_autotuner_records_all_configurations_as_alternatives(interpreted: Tape) -> None:
    first, second = launches_of(interpreted, "tuned")
    assert first.alternative == second.alternative
    assert first.alternative is not None
    assert first.alternative.kept
    assert [triton_kernel(launch).options["num_warps"] for launch in (first, second)] == [64, 4]
    assert [dict(triton_kernel(launch).constants)[3,] for launch in (first, second)] == [True, True]  # by a heuristic


def test_a_constant_that_a_test_replaces_makes_another_launch(interpreted: Tape) -> None:
    found = [triton_kernel(launch).function.source_hash for launch in launches_of(interpreted, "constant_of_tuned")]
    assert [found.count(sources) for sources in dict.fromkeys(found)] == [2, 2]  # two configurations of each


def test_configurations_that_pruning_leaves_out_are_marked(interpreted: Tape) -> None:
    assert [
        (dict(triton_kernel(launch).constants)[2,], launch.alternative.kept)
        for launch in launches_of(interpreted, "pruned")
        if launch.alternative
    ] == [(32, False), (64, True)]


def test_a_launch_that_fails_where_it_runs_is_recorded_as_such(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    tape = recorded(tmp_path, "--gpu", "8.6", "launches.clusters")
    [launch] = launches_of(tape, "clusters")
    assert launch.raised
    assert triton_kernel(launch).options == {"num_ctas": 2}


def test_programs_of_modules_imported_before_the_recorder_are_followed(programs: Tape, tmp_path: Path) -> None:
    assert recorded(tmp_path, "--late", "programs").launches == programs.launches


def program(tape: Tape, test: str) -> CudaProgram:
    [launch] = launches_of(tape, test)
    assert isinstance(launch.kernel, CudaProgram)
    return launch.kernel


def test_a_cuda_program_is_recorded_with_its_options(programs: Tape) -> None:
    found = program(programs, "plain_for_90")
    assert "x[0] = VALUE;" in found.source
    assert (found.name, found.code_type, found.target_type, found.arch) == ("kernel", "c++", "cubin", "sm_90")
    assert found.options == {
        "std": "c++17",
        "define_macro": {"list": [{"tuple": ["VALUE", "2"]}, "UNUSED"]},
    }
    assert not found.follows_device


def test_a_program_that_the_compiler_refuses_is_recorded_as_such(programs: Tape) -> None:
    assert [launch.raised for launch in launches_of(programs, "setmaxnreg_for_90")] == [True]
    assert [launch.raised for launch in launches_of(programs, "setmaxnreg_for_90a")] == [False]


def test_recording_imports_neither_triton_nor_cuda_core() -> None:
    script = (
        "import sys; from pathlib import Path; from pytest_gpumatrix.portability.recording.recorder import Recorder; "
        "r = Recorder(print, rootdir=Path()); r.install()\n"
        "with r.during('t'): pass\n"
        "r.uninstall(); print({'triton', 'torch', 'numpy', 'cuda'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_a_failure_to_record_is_a_problem_and_not_the_tests(tmp_path: Path) -> None:
    """The kernel's file is gone when it is launched, so that its sources cannot be hashed."""
    pytest.importorskip("triton")
    script = tmp_path / "script.py"
    script.write_text(
        """
import importlib, sys
from pathlib import Path
from pytest_gpumatrix.portability.recording.recorder import Recorder
import torch

lines = []
recorder = Recorder(lines.append, rootdir=Path.cwd())
recorder.install()
import fleeting
Path(fleeting.__file__).unlink()
with recorder.during("test"):
    x = torch.zeros(16)
    for _ in range(2):
        fleeting.store[(1,)](x)
assert torch.equal(x, torch.ones(16))
assert tuple(lines) == recorder.problems
[problem] = recorder.problems
print(problem.test, problem.message)
"""
    )
    (tmp_path / "fleeting.py").write_text(
        """
import triton
import triton.language as tl

@triton.jit
def store(x):
    tl.store(x + tl.arange(0, 16), tl.full((16,), 1.0, tl.float32))
"""
    )
    found = subprocess.run(
        [sys.executable, "-B", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**_environment(), "TRITON_INTERPRET": "1"},
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("test a launch of store: ")


def test_after_uninstall_everything_is_as_before(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    pytest.importorskip("cuda.core")
    script = """
import sys
from pathlib import Path
import cuda.core
from cuda.core import Program as Alias
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import GridExecutor, InterpretedFunction
from triton.runtime.jit import JITFunction
from pytest_gpumatrix.portability.recording.recorder import Recorder

def places():
    return [Autotuner.run, JITFunction.run, GridExecutor.__call__, InterpretedFunction.rewrite,
            cuda.core.Program, cuda.core.launch, Alias]

before, finders = places(), list(sys.meta_path)
recorder = Recorder(print, rootdir=Path())
recorder.install()
assert not set(map(id, places())) & set(map(id, before))
recorder.uninstall()
assert places() == before
assert sys.meta_path == finders
"""
    subprocess.run([sys.executable, "-c", script], check=True, env=_environment())


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}


def test_the_tape_is_json_both_ways(interpreted: Tape, programs: Tape) -> None:
    for launch in (*interpreted.launches, *programs.launches):
        assert msgspec.json.decode(msgspec.json.encode(launch), type=Launch) == launch


def test_a_package_that_is_not_as_expected_is_a_problem_of_every_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """And neither an error of its import, nor of a test."""
    monkeypatch.setitem(sys.modules, "torch.cuda.graphs", ModuleType("torch.cuda.graphs"))
    lines: list[Launch | Problem] = []
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    for test in ("first", "second"):
        with recorder.during(test):
            pass
    recorder.uninstall()
    message = "launches through torch.cuda.graphs are not seen: AttributeError: module 'torch.cuda.graphs' has no"
    assert [line.test for line in lines if isinstance(line, Problem)] == ["first", "second"]
    assert all(isinstance(line, Problem) and line.message.startswith(message) for line in lines)
