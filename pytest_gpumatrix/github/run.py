"""One leg of the matrix: pytest over the user's tests, its files kept, its exit code passed on."""

from __future__ import annotations

import contextlib
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.github.inputs import flag, read, required
from pytest_gpumatrix.github.step import write_outputs

_PASSED_ON = (signal.SIGINT, signal.SIGTERM)  # what a runner sends, in this order, when a job is cancelled


@dataclass(frozen=True, kw_only=True, slots=True)
class PytestRun:
    """A command, and where it works."""

    command: tuple[str, ...]
    folder: Path
    results: Path  # absolute


def pytest_run(environ: Mapping[str, str], python: str) -> PytestRun:
    """What the inputs of action.yml ask for. GpuMatrixError names the input that cannot be had."""
    folder = Path(read(environ, "working-directory").strip() or ".").absolute()
    if not folder.is_dir():
        raise GpuMatrixError(f"the input 'working-directory': {folder} is no folder; check the repository out first")
    results = folder / required(environ, "results")
    try:
        own = shlex.split(read(environ, "pytest-args"))
    except ValueError as error:
        raise GpuMatrixError(f"the input 'pytest-args' cannot be split into arguments: {error}") from error
    options = ["--gpu-matrix", f"--gpu-devices={required(environ, 'device')}", f"--gpu-matrix-out={results}"]
    if flag(environ, "native"):
        options.append("--gpu-native")
    return PytestRun(command=(python, "-m", "pytest", *options, *own), folder=folder, results=results)


def run_tests(environ: Mapping[str, str], python: str) -> int:
    """Run pytest as the inputs ask; its exit code, or 128 and the signal that ended it. Outputs: results, exit-code."""
    run = pytest_run(environ, python)
    _refuse_old_results(run.results)
    write_outputs(environ, {"results": str(run.results)})  # now: they are to be kept however pytest ends
    print("gpumatrix:", shlex.join(run.command), flush=True)
    code = _wait(run)
    write_outputs(environ, {"exit-code": str(code)})
    return code


def _refuse_old_results(results: Path) -> None:
    """A runner that keeps its workspace has the files of an earlier job; uploaded again they would be a false green."""
    if results.is_dir() and (kept := sorted(entry.name for entry in results.iterdir())):
        raise GpuMatrixError(
            f"the input 'results': {results} holds {kept[0]} already, which this run did not make; "
            "let actions/checkout clean the workspace, or name a new folder"
        )


def _wait(run: PytestRun) -> int:
    with subprocess.Popen(run.command, cwd=run.folder) as pytest, _passing_signals_on(pytest):  # noqa: S603 - no shell
        code = pytest.wait()
    return code if code >= 0 else 128 - code


@contextlib.contextmanager
def _passing_signals_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """A cancelled job's pytest gets to write its files."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
