"""What a compiling process says of a refusal: the compiler's own sentence, and nothing of this machine."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from pytest_gpumatrix.portability.compiling.compile_job import Status
from pytest_gpumatrix.portability.recording.specialise import refer_to
from pytest_gpumatrix.portability.tape.launch import TritonKernel
from tests.portability.compiling.hostile_jobs import do

ASKS = """
import os
import triton
import triton.language as tl

@triton.jit
def k(x):
    tl.store(x, os.environ.get("TOKEN"))
"""


def test_the_environment_that_a_kernel_names_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    (tmp_path / "asks.py").write_text(ASKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("AAA_TOKEN", "hunter2")
    kernel = importlib.import_module("asks").k
    [found] = do(
        tmp_path,
        TritonKernel(
            function=refer_to(kernel, tmp_path), signature={"x": "*fp32"}, constants=(), attributes=(), options={}
        ),
    )
    assert found.status is Status.UNKNOWN  # Triton raises no error of its own for it
    assert "environ(...)" in found.message
    assert "{" not in found.message


@pytest.mark.parametrize("assembler", ["ptxas", "ptxas-blackwell"])
def test_the_sentence_of_any_assembler_is_told_alone(assembler: str) -> None:
    errors = pytest.importorskip("triton.runtime.errors")
    from pytest_gpumatrix.portability.compiling.compile_triton import _refusal

    log = f"Internal Triton PTX codegen error\n`ptxas` stderr:\n{assembler} fatal   : (C7602) too many registers\n"
    assert _refusal(errors.PTXASError(log), "sm_100").message == "(C7602) too many registers"
