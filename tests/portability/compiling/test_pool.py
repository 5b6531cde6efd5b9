"""Compiling processes, and what becomes of a job whose module misbehaves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.compiling.pool import (
    CompilingProcess,
    compiling_environment,
    refuse_to_nest,
    run_jobs,
)
from pytest_gpumatrix.portability.tape.launch import FunctionReference, TritonKernel


def job(module: str, qualname: str = "kernel") -> Job:
    reference = FunctionReference(module=module, qualname=qualname, file=f"{module}.py", line=1, source_hash="0")
    kernel = TritonKernel(function=reference, signature={}, constants=(), attributes=(), options={})
    return Job(kernel=kernel, arch="sm_86")


def do(folder: Path, *jobs: Job, processes: int = 1, budget_seconds: float = 60.0) -> dict[str, Compiled]:
    environment = compiling_environment({**os.environ, "TRITON_INTERPRET": "1"})
    found = run_jobs(
        jobs,
        processes=processes,
        start=lambda: CompilingProcess(folder, sys.path, environment),
        budget_seconds=budget_seconds,
    )
    return {job.key: compiled for job, compiled in found}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be rebuilt: {folder}/module.py is not there"),
        ("", "cannot be rebuilt: module.py has no jit function kernel"),
        ("kernel = 1", "cannot be rebuilt: module.py has no jit function kernel"),
        ("1 / 0", "cannot be rebuilt: importing module failed: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "cannot be rebuilt: importing module failed: SystemExit: 3"),
        (
            "import pytest; pytest.skip('not here', allow_module_level=True)",
            "cannot be rebuilt: importing module failed: Skipped: not here",
        ),
        ("def kernel(): ...", "cannot be rebuilt: sources differ: module.py, or what kernel calls, has changed"),
        ("import os; os._exit(3)", "cannot be rebuilt: importing its module ends in exit code 3"),
        ("import os; os.abort()", "cannot be rebuilt: importing its module ends in SIGABRT"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "cannot be rebuilt: importing its module ends in SIGKILL",
        ),
        (
            "import os; os.write(1, b'no answer\\n'); print('nor this')",
            "cannot be rebuilt: module.py has no jit function",
        ),
        (
            "import os; assert 'TRITON_INTERPRET' not in os.environ; assert os.environ['CUDA_VISIBLE_DEVICES'] == ''",
            "cannot be rebuilt: module.py has no jit function",
        ),
    ],
)
def test_a_kernel_that_cannot_be_had_is_unknown(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "module.py").write_text(text)
    [found] = do(tmp_path, job("module")).values()
    assert found.status is Status.UNKNOWN
    assert found.message.startswith(message.format(folder=tmp_path))


def test_the_next_job_gets_a_new_process(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import os; os.abort()")
    (tmp_path / "good.py").write_text("")
    found = do(tmp_path, job("bad"), job("good"), job("bad", "other"), job("good", "other"))
    assert len(found) == 4
    assert found[job("good", "other").key].message == "cannot be rebuilt: good.py has no jit function other"


def test_when_the_budget_is_used_up_the_processes_end(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    (tmp_path / "endless.py").write_text(
        f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(3600)"
    )
    while not pid.exists():  # a slow machine may need more time to come so far
        assert do(tmp_path, job("endless"), processes=2, budget_seconds=2.0) == {}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_process_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    def start() -> CompilingProcess:
        raise OSError("no more processes")

    with pytest.raises(OSError, match="no more processes"):
        list(run_jobs([job("module")], processes=1, start=start, budget_seconds=60.0))


def test_a_module_is_found_by_its_name_with_its_package(tmp_path: Path) -> None:
    """As a module that imports from beside itself needs it; the rootdir is on the search path."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "beside.py").write_text("")
    (package / "module.py").write_text("from . import beside")
    reference = FunctionReference(
        module="package.module", qualname="k", file="package/module.py", line=1, source_hash="0"
    )
    kernel = TritonKernel(function=reference, signature={}, constants=(), attributes=(), options={})
    [found] = do(tmp_path, Job(kernel=kernel, arch="sm_86")).values()
    assert found.message == "cannot be rebuilt: package/module.py has no jit function k"


def test_a_compiling_process_starts_no_others() -> None:
    refuse_to_nest({})
    with pytest.raises(GpuMatrixError, match="when it is imported"):
        refuse_to_nest(compiling_environment({}))
