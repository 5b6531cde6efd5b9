"""A compiling process: started, asked one job at a time, and ended with all that it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
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
