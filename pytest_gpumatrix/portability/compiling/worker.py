"""A compiling process: reads jobs from its standard input, one JSON line each, and answers with lines.

It imports the modules that hold the kernels, which is code that the tests have just run.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Done, Job, Started, Status
from pytest_gpumatrix.portability.compiling.rebuild import CannotRebuildError
from pytest_gpumatrix.portability.tape.launch import TritonKernel

_ENCODER = msgspec.json.Encoder()
_ENVIRONMENT = re.compile(r"\benviron\(\{.*", re.DOTALL)


def main(rootdir: str) -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what compilers and imported modules print must not come between the answers
    sys.stdout = sys.stderr
    if rootdir not in sys.path:
        sys.path.append(rootdir)  # pytest's importlib mode names a test module by its path from here
    decoder = msgspec.json.Decoder(Job)
    while line := sys.stdin.buffer.readline():
        try:
            job = decoder.decode(line)
        except RecursionError as error:
            compiled = Compiled(status=Status.UNKNOWN, message=f"not compiled: {error}")
        else:
            compiled = compile_job(job, Path(rootdir), lambda: _answer(answers, Started()))
        _answer(answers, Done(compiled=without_environment(compiled)))


def without_environment(compiled: Compiled) -> Compiled:
    """A compiler's sentence may show what a kernel named, as ``os.environ`` with all its values: reports are public."""
    return msgspec.structs.replace(compiled, message=_ENVIRONMENT.sub("environ(...)", compiled.message))


def compile_job(job: Job, rootdir: Path, started: Callable[[], None]) -> Compiled:
    """Do one job; never raises: what is not the compiler's refusal is unknown."""
    try:
        if isinstance(job.kernel, TritonKernel):
            from pytest_gpumatrix.portability.compiling.compile_triton import compile_triton

            return compile_triton(job.kernel, job.arch, rootdir, started)
        from pytest_gpumatrix.portability.compiling.compile_cuda import compile_cuda

        return compile_cuda(job.kernel, job.arch, rootdir, started)
    except CannotRebuildError as error:
        return Compiled(status=Status.UNKNOWN, message=f"cannot be rebuilt: {error}")
    except Exception as error:  # noqa: BLE001 - the next jobs must not suffer, and the answer says what it was
        return Compiled(status=Status.UNKNOWN, message=f"not compiled: {type(error).__name__}: {error}"[:300])


def _answer(answers: BinaryIO, answer: Started | Done) -> None:
    answers.write(_ENCODER.encode(answer) + b"\n")
    answers.flush()
