"""Compiling processes: started, asked, and replaced when a compiler takes one down."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

import msgspec

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Done, Job, Started, Status
from pytest_gpumatrix.portability.compiling.process_ends import how_it_ended
from pytest_gpumatrix.portability.compiling.refusals import fault_of_this_machine

# -I: neither PYTHON* variables nor the current folder; the search path is that of the process that recorded.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from pytest_gpumatrix.portability.compiling.worker import main; main(sys.argv[2])"
)
# They would make a compiling process interpret, compile for another target, or take code from elsewhere.
_NOT_INHERITED = frozenset(
    {
        "TRITON_INTERPRET",
        "TRITON_OVERRIDE_ARCH",
        "TRITON_KERNEL_OVERRIDE",
        "TRITON_KERNEL_DUMP",
        "TRITON_STORE_BINARY_ONLY",
        "TRITON_CACHE_MANAGER",
        "TRITON_REMOTE_CACHE_BACKEND",
    }
)
# Its own cache follows fewer names than ours, and keeps no report of the assembler (triton 3.6 and later print it).
_OF_TRITON = {"TRITON_ALWAYS_COMPILE": "1", "TRITON_DUMP_PTXAS_LOG": "1"}
_COMPILING = "GPUMATRIX_COMPILING"  # set in compiling processes
# A compiler that fails ends by these; by others the process was stopped from outside (SIGKILL: out of memory).
_CRASHES = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP})


def compiling_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a compiling process: no interpreter, no GPU."""
    kept = {name: value for name, value in environ.items() if name not in _NOT_INHERITED}
    return {**kept, **_OF_TRITON, "CUDA_VISIBLE_DEVICES": "", _COMPILING: "1"}


def refuse_to_nest(environ: Mapping[str, str]) -> None:
    """A compiling process imports the project's modules; one that compiles at import would start others without end."""
    if _COMPILING in environ:
        raise GpuMatrixError(
            "a compiling process was asked to start others: does a module of the project run pytest, or compile, "
            "when it is imported?"
        )


class CompilingProcess:
    """One process, asked one job at a time."""

    def __init__(self, rootdir: Path, sys_path: Sequence[str], environment: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        command = [sys.executable, "-I", "-c", _START, json.dumps(list(sys_path)), str(rootdir)]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(environment),
            start_new_session=True,  # Ctrl-C is for us alone, and the assembler that it starts can be ended with it
        )
        self._stdin, self._stdout = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        self._decoder = msgspec.json.Decoder(Started | Done)
        self._said_before = 0
        self.alive = True

    def ask(self, job: Job) -> Compiled:
        """Do a job. If the process ends instead of answering, that is the answer, and ``alive`` is False."""
        started = False
        self._said_before = os.fstat(self._errors.fileno()).st_size
        try:
            line = msgspec.json.encode(job) + b"\n"
        except RecursionError:
            message = "not compiled: the tape nests its options or constants too deeply"
            return Compiled(status=Status.UNKNOWN, message=message)
        try:
            self._stdin.write(line)
            self._stdin.flush()
            while line := self._stdout.readline():
                answer = self._decoder.decode(line)
                if isinstance(answer, Done):
                    return answer.compiled
                started = True
        except (OSError, ValueError, msgspec.MsgspecError):  # it ended, or what it says is no answer
            self._kill()
        self.alive = False
        return self._ended(job.arch, started=started)

    def stop(self) -> None:
        """End the process, whatever it is doing, and what it started."""
        self.alive = False
        self._kill()
        self._process.wait()

    def close(self) -> None:
        """Release the files of a process that has ended and that nobody is asking."""
        with suppress(BrokenPipeError):  # what it did not read goes nowhere
            self._stdin.close()
        self._stdout.close()
        self._errors.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):  # all of the group are gone
            if self._process.returncode is None:  # until it is reaped nobody else can have its number
                os.killpg(self._process.pid, signal.SIGKILL)

    def _ended(self, arch: str, *, started: bool) -> Compiled:
        with suppress(ChildProcessError):  # it is reaped: by ``stop``, or where SIGCHLD is ignored
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self._kill()  # what it left behind
        code = self._process.wait()
        how = how_it_ended(code)
        last = self._last_words()
        if not started:
            return Compiled(
                status=Status.UNKNOWN, message=f"cannot be rebuilt: importing its module ends in {how}{last}"
            )
        if code < 0 and -code not in _CRASHES:
            return Compiled(status=Status.UNKNOWN, message=f"not compiled: the compiling process was ended by {how}")
        if (fault := fault_of_this_machine(self._said(), arch)) is not None:
            return Compiled(status=Status.UNKNOWN, message=f"not compiled: {fault}")
        return Compiled(status=Status.CRASHED, message=f"the compiler crashed ({how}){last}")

    def _said(self) -> str:
        """The last of what it wrote to its standard error during this job; it has ended."""
        size = self._errors.seek(0, 2)
        self._errors.seek(max(self._said_before, size - 16_384))
        return self._errors.read().decode(errors="replace")

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._said().splitlines() if line.strip()]
        telling = [line for line in lines if "LLVM ERROR" in line or "Assertion" in line or "error:" in line]
        return f": {(telling or lines)[-1][:300]}" if lines else ""


def run_jobs(
    jobs: Iterable[Job], *, processes: int, start: Callable[[], CompilingProcess], budget_seconds: float
) -> Generator[tuple[Job, Compiled], None, None]:
    """Do the jobs in parallel; yields each as it ends. When the budget is used up the rest is not yielded.

    A job is taken from ``jobs`` (in a thread of the pool, one at a time) when a process is free for it and the results
    are wanted, so that there may be any number of them. A process is started when there is a job for it. To close the
    generator ends all of them.
    """
    deadline = time.monotonic() + budget_seconds
    waiting = _Waiting(jobs)
    results: _Results = queue.Queue(maxsize=processes)
    crew = [_Runner(waiting, start) for _ in range(processes)]
    working = len(crew)
    try:
        for runner in crew:
            runner.begin(results)
        while working:
            left = min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)
            try:
                result = results.get(timeout=left)
            except queue.Empty:
                return
            if isinstance(result, BaseException):
                raise result
            if result is None:
                working -= 1
            else:
                yield result
    finally:
        for runner in crew:
            runner.stop()


_Results = queue.Queue[tuple[Job, Compiled] | BaseException | None]  # None: a thread has ended


class _Waiting:
    """The jobs that no process has taken yet."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = iter(jobs)
        self._lock = threading.Lock()

    def take(self) -> Job | None:
        """The next one, or None if there is none left."""
        with self._lock:
            return next(self._jobs, None)


class _Runner:
    """A thread that feeds one process at a time."""

    def __init__(self, waiting: _Waiting, start: Callable[[], CompilingProcess]) -> None:
        self._waiting, self._start = waiting, start
        self._lock = threading.Lock()
        self._process: CompilingProcess | None = None
        self._stopped = False
        self._thread: threading.Thread | None = None

    def begin(self, results: _Results) -> None:
        """Start the thread. It puts each result, and at its end None or what went wrong."""
        self._thread = threading.Thread(target=self._run, args=(results,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the process, and with it the thread."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.stop()
        if self._thread is not None:
            self._thread.join()
        if self._process is not None:
            self._process.close()

    def _run(self, results: _Results) -> None:
        try:
            while not self._stopped and (job := self._waiting.take()) is not None:
                if (process := self._ready()) is None:
                    break
                self._put((job, process.ask(job)), results)
            self._put(None, results)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._put(error, results)

    def _put(self, result: tuple[Job, Compiled] | BaseException | None, results: _Results) -> None:
        """Wait until the result is wanted, or none is any more."""
        while not self._stopped:
            try:
                results.put(result, timeout=0.1)
            except queue.Full:
                continue
            return

    def _ready(self) -> CompilingProcess | None:
        with self._lock:
            if self._stopped:
                return None
            if self._process is not None and not self._process.alive:
                self._process.close()
                self._process = None
            if self._process is None:
                self._process = self._start()
            return self._process
