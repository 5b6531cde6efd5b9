"""Compiling processes, and what becomes of a job whose module misbehaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.compiling import compiling_process
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.compiling.compiling_process import (
    CompilingProcess,
    compiling_environment,
    refuse_to_nest,
)
from pytest_gpumatrix.portability.compiling.pool import run_jobs
from pytest_gpumatrix.portability.tape.launch import FunctionReference, TritonKernel


def job(module: str, qualname: str = "kernel") -> Job:
    reference = FunctionReference(module=module, qualname=qualname, file=f"{module}.py", line=1, source_hash="0")
    kernel = TritonKernel(function=reference, signature={}, constants=(), attributes=(), options={})
    return Job(kernel=kernel, arch="sm_86")


# Answers a first job, complaining, and crashes in a second one.
CRASHING_WORKER = """
import os, sys, msgspec
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Done, Started, Status

sys.stdin.buffer.readline()
os.write(2, b"LLVM ERROR: out of memory\\n")
os.write(1, msgspec.json.encode(Done(compiled=Compiled(status=Status.COMPILED))) + b"\\n")
sys.stdin.buffer.readline()
os.write(1, msgspec.json.encode(Started()) + b"\\n")
os.write(2, b"{said}\\n")
os.abort()
"""


def start_in(folder: Path) -> CompilingProcess:
    return CompilingProcess(folder, sys.path, compiling_environment(os.environ))


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


@pytest.mark.parametrize(
    ("said", "status", "message"),
    [
        ("LLVM ERROR: Cannot select", Status.CRASHED, "the compiler crashed (SIGABRT): LLVM ERROR: Cannot select"),
        ("LLVM ERROR: out of memory", Status.UNKNOWN, "not compiled: this machine failed the compiler: out of memory"),
        (
            "'sm_86' is not a recognized processor for this target",
            Status.UNKNOWN,
            "not compiled: the compiler installed here does not build for sm_86: a newer one may",
        ),
    ],
)
def test_a_compiler_that_crashes_for_want_of_something_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, status: Status, message: str
) -> None:
    """Only what was said during the job counts: before, of another one, it was short of memory."""
    monkeypatch.setattr(compiling_process, "_START", CRASHING_WORKER.format(said=said))
    process = CompilingProcess(tmp_path, sys.path, compiling_environment(os.environ))
    try:
        assert process.ask(job("first")) == Compiled(status=Status.COMPILED)
        assert process.ask(job("second")) == Compiled(status=status, message=message)
    finally:
        process.close()


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


def test_a_job_is_taken_when_a_process_is_free_for_it(tmp_path: Path) -> None:
    taken = 0

    def endless() -> Iterator[Job]:
        nonlocal taken
        while True:
            taken += 1
            yield job("missing", f"kernel_{taken}")

    results = run_jobs(
        endless(),
        processes=2,
        start=lambda: start_in(tmp_path),
        budget_seconds=float("inf"),
    )
    for _ in range(5):
        next(results)
    results.close()
    assert taken <= 5 + 2 + 2  # wanted, waiting to be wanted, and with a process


def test_no_process_is_started_without_a_job(tmp_path: Path) -> None:
    assert list(run_jobs([], processes=2, start=lambda: pytest.fail("started"), budget_seconds=60.0)) == []


def test_jobs_that_cannot_be_had_are_an_error(tmp_path: Path) -> None:
    def broken() -> Iterator[Job]:
        yield job("missing")
        raise GpuMatrixError("a broken line of the tape")

    with pytest.raises(GpuMatrixError, match="a broken line"):
        list(run_jobs(broken(), processes=2, start=lambda: start_in(tmp_path), budget_seconds=60.0))


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
