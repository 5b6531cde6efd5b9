"""What the compiling processes are asked, and what they answer: JSON lines."""

from __future__ import annotations

from enum import Enum

import msgspec

from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Kernel, digest


class Status(str, Enum):
    """What came of a compilation."""

    COMPILED = "compiled"
    REFUSED = "refused"  # by the compiler, with its sentence
    CRASHED = "crashed"  # the compiler took its process with it
    UNKNOWN = "unknown"  # it never came to the compiler, or the machine failed


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel to compile for one architecture."""

    kernel: Kernel
    arch: str  # "sm_86", "sm_90a"

    @property
    def key(self) -> str:
        """A name for equal jobs: how a CUDA program is launched does not change what is compiled."""
        kernel = self.kernel
        if isinstance(kernel, CudaProgram):
            follows = kernel.follows_device and kernel.target_type == "ptx"  # other PTX is translated
            kernel = msgspec.structs.replace(kernel, launch=None, follows_device=follows)
        return digest((kernel, self.arch))


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job. Figures are None where the compiler does not state them."""

    status: Status
    message: str = ""  # one line: the compiler's sentence, or why it is not known
    tuner_survives: bool = False  # a refusal that Triton's autotuner passes over
    shared_memory: int | None = None  # bytes per block that Triton's launch asks for
    threads: int | None = None  # per block
    tensor_memory: int | None = None  # columns
    blocks_per_cluster: int | None = None  # of Triton's launch
    kernels: dict[str, KernelFigures] | None = None  # by mangled name: of a CUDA program all, of Triton the one


class Started(msgspec.Struct, frozen=True, kw_only=True, tag_field="answer", tag="started"):
    """The kernel was found, and the compiler begins: from here on a crash is the compiler's."""


class Done(msgspec.Struct, frozen=True, kw_only=True, tag_field="answer", tag="done"):
    """The job's end."""

    compiled: Compiled
