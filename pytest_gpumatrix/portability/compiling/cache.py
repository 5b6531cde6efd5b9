"""What was compiled before, on disk: one small file per job and compiler."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job, Status
from pytest_gpumatrix.portability.compiling.machine import installed, package_folders
from pytest_gpumatrix.portability.compiling.machine_code import disassemblers
from pytest_gpumatrix.portability.tape.launch import CudaProgram
from pytest_gpumatrix.record.atomic import write_atomically

FORMAT = 5  # raised when the meaning of Compiled, or of a job's key, or how a job is compiled changes
_LASTING = frozenset({Status.COMPILED, Status.REFUSED})  # the others may go better next time
_COMPILERS = (
    "triton",
    "cuda-core",
    "cuda-bindings",
    "cuda-toolkit",
    *(f"nvidia-{part}{cuda}" for part in ("cuda-nvrtc", "nvjitlink") for cuda in ("", "-cu12", "-cu13")),
)
# Variables that Triton's compiler reads (triton/knobs.py, and getCacheInvalidatingEnvVars in its C++ sources).
_COMPILER_VARIABLES = (
    "TRITON_",
    "PTXAS_",
    "NVPTX_",
    "LLVM_",
    "DISABLE_",
    "MLIR_",
    "USE_IR_LOC",
    "NVRTC_",
    "CUDA_CORE_",
)
_WHERE_CUDA_IS = ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")  # NVRTC and libdevice may be found there
# Reads another file, once lines that go on are joined: a directive may be spelled with digraphs and spaces.
_READS_A_FILE = re.compile(r"(#|%:|\?\?=)(\s|/\*.*?\*/)*(include|embed|import)|__has_(include|embed)", re.DOTALL)
_GOES_ON = re.compile(r"(\\|\?\?/)[ \t]*\r?\n")
_NO_MATTER = frozenset({"TRITON_CACHE_DIR", "TRITON_HOME"})


class CompileCache:
    """Results by job and compiler. A job's key holds the hash of its sources, so no module is imported to look."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._compiler = compiler_version(environ)
        self.failure: OSError | None = None  # the first result that could not be written; none is tried after it

    def get(self, job: Job) -> Compiled | None:
        """What came of the job before; None if that is not known. A file that cannot be read is as good as none."""
        try:
            return msgspec.json.decode(self._path(job).read_bytes(), type=Compiled)
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, job: Job, compiled: Compiled) -> None:
        """Keep what came of a job, if it would come out the same again. See ``failure`` for whether it is kept."""
        if self.failure is not None or compiled.status not in _LASTING or not _is_told_by_its_key(job):
            return
        path = self._path(job)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, msgspec.json.encode(compiled))
        except OSError as error:
            self.failure = error

    def _path(self, job: Job) -> Path:
        name = hashlib.sha256(f"{job.key} {self._compiler}".encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"


def compiler_version(environ: Mapping[str, str]) -> str:
    """What decides, beside the job, what a compiler makes of it; found without importing a compiler."""
    settings = sorted(
        f"{name}={value} {_state_of(value)}"
        for name, value in environ.items()
        if name in _WHERE_CUDA_IS or (name.startswith(_COMPILER_VARIABLES) and name not in _NO_MATTER)
    )
    versions = (f"{name} {version}" for name, version in installed(_COMPILERS))
    parts = [str(FORMAT), sys.version, *versions, *_triton_build(), *_disassemblers(), *settings]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


def _state_of(value: str) -> str:
    """The state of the file that a setting names, as ``TRITON_PTXAS_PATH`` does; empty where it names none."""
    try:
        stat = os.stat(value)  # noqa: PTH116 - it may be no path at all
    except (OSError, ValueError):
        return ""
    return f"{stat.st_size} {stat.st_mtime_ns}"


def _triton_build() -> Iterator[str]:
    """The state of Triton's compiled part: two builds from source may bear one version."""
    for folder in package_folders("triton"):
        for library in sorted((folder / "_C").glob("libtriton*")):
            stat = library.stat()
            yield f"{library.name} {stat.st_size} {stat.st_mtime_ns}"


def _disassemblers() -> Iterator[str]:
    """What is not known for want of one is known when there is one."""
    for tool in disassemblers():
        stat = tool.stat()
        yield f"{tool} {stat.st_size} {stat.st_mtime_ns}"


def _is_told_by_its_key(job: Job) -> bool:
    """Whether nothing else decides: no header that a CUDA program includes, no value that a kernel reads."""
    kernel = job.kernel
    if isinstance(kernel, CudaProgram):
        text = _GOES_ON.sub("", kernel.source)
        return _READS_A_FILE.search(text) is None and "pre_include" not in kernel.options
    return kernel.lasting
