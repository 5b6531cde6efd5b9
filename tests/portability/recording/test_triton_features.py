"""What is rarer in Triton is on the tape, alike of the interpreter and of a GPU, and can be compiled from it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.portability.tape.launch import TritonKernel
from pytest_gpumatrix.portability.tape.tape import Tape
from tests.portability.sample_run import SAMPLE, launches_of, recorded

FEATURES = (
    "options",
    "constexpr_function_and_global",
    "host_descriptors",
    "device_descriptors",
    "warp_specialisation",
    "tuples",
)
GLUON = ("gluon_kernel", "gluon_kernel_with_a_layout")
# As a compiling process does it: a line per launch, with what came of it.
SCRIPT = """
import sys
from pathlib import Path
from pytest_gpumatrix.portability.compiling.compile_job import Job
from pytest_gpumatrix.portability.compiling.worker import compile_job
from pytest_gpumatrix.portability.tape.tape import read_tape
for launch in read_tape(Path(sys.argv[1])).launches:
    compiled = compile_job(Job(kernel=launch.kernel, arch="sm_90"), Path.cwd(), lambda: None)
    print(launch.test, compiled.status.value, compiled.message)
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tape, Path]:
    pytest.importorskip("triton.tools.tensor_descriptor")
    pytest.importorskip("triton.experimental.gluon")
    folder = tmp_path_factory.mktemp("features")
    caches = {"TRITON_CACHE_DIR": str(folder / "triton")}
    return recorded(folder, "--gpu", "9.0", "features", "gluon_launches", environ=caches), folder


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    pytest.importorskip("triton.tools.tensor_descriptor")
    return recorded(tmp_path_factory.mktemp("interpreted"), "features", interpret=True)


def kernel(tape: Tape, test: str) -> TritonKernel:
    [launch] = launches_of(tape, test)
    assert isinstance(launch.kernel, TritonKernel)
    return launch.kernel


def test_nothing_is_left_out(native: tuple[Tape, Path], interpreted: Tape) -> None:
    assert (native[0].problems, interpreted.problems) == ((), ())
    assert [launch.test for launch in native[0].launches] == [*FEATURES, *GLUON]
    assert [launch.kernel.obstacle for launch in native[0].launches] == [None] * len(native[0].launches)


@pytest.mark.parametrize("test", FEATURES)
def test_the_interpreter_gives_the_native_specialisation(
    native: tuple[Tape, Path], interpreted: Tape, test: str
) -> None:
    assert kernel(interpreted, test) == kernel(native[0], test)


@pytest.mark.parametrize(
    ("test", "options", "signature"),
    [
        ("options", {"num_ctas": 2, "maxnreg": 64, "num_warps": 8}, {"x": "*fp32"}),  # the interpreter drops them
        ("constexpr_function_and_global", {}, {"TYPE": "constexpr"}),
        ("host_descriptors", {}, {"source": "tensordesc<fp32[16, 16]>", "target": "tensordesc<fp32[16, 16]>"}),
        ("device_descriptors", {}, {"source": "*fp32", "rows": "i32"}),
        ("warp_specialisation", {"num_warps": 4}, {"a": "tensordesc<fp16[16, 16]>", "SPECIALISE": "constexpr"}),
        ("tuples", {}, {"pointers": ["*fp32", "*fp32"], "sizes": ["i32", "i32"]}),
    ],
)
def test_options_and_types_are_those_of_the_launch(
    interpreted: Tape, test: str, options: dict[str, Any], signature: dict[str, Any]
) -> None:
    found = kernel(interpreted, test)
    assert found.options == options
    assert {**found.signature, **signature} == found.signature


def test_what_is_on_the_tape_can_be_compiled(native: tuple[Tape, Path]) -> None:
    """Gluon's kernels among it, with a layout as an argument."""
    _, folder = native
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, folder / "launches.tape.jsonl"],
        env={**environment, "TRITON_CACHE_DIR": str(folder / "again"), "PYTHONPATH": str(Path.cwd())},
        cwd=SAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout.splitlines() == [f"{test} compiled " for test in (*FEATURES, *GLUON)], found.stderr
