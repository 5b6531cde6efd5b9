"""What a test launched, as it stands on the tape: enough to compile it again for another device."""

from __future__ import annotations

import hashlib
import math
from typing import Annotated, Any

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # what the driver's own numbers hold, and more
Extent = tuple[Count, Count, Count]  # in x, y and z


class FunctionReference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a ``@triton.jit`` function is defined."""

    module: str  # as it was imported
    qualname: str
    file: str  # relative to the rootdir if it is inside, else absolute; of generated code the name alone
    line: int  # of its first decorator, or of its def
    source_hash: str  # see sources.source_hash and sources.generated_hash
    # What files the hash covers, told as ``file`` is, each with the SHA-256 of its content; none of generated code.
    files: dict[str, str] = {}
    complete: bool = True  # whether the hash covers all that the function may reach
    text: str | None = None  # of the module that torch.compile generated, which no other machine has


class TritonKernel(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="triton"):
    """One specialisation of a Triton kernel: what ``triton.compiler.ASTSource`` takes, as JSON.

    Values of ``constants`` and ``options`` are in the form of ``values.encode``. A path is the position of
    an argument, with further positions inside a tuple.
    """

    function: FunctionReference
    signature: dict[str, Any]  # parameter -> Triton's type ("*fp16", "constexpr"); a list for a tuple
    constants: tuple[tuple[tuple[int, ...], Any], ...]  # path -> value
    attributes: tuple[tuple[tuple[int, ...], Any], ...]  # path -> [["tt.divisibility", 16]]
    options: dict[str, Any]  # as the launch gave them: num_warps, num_stages, ...
    obstacle: str | None = None  # why it cannot be rebuilt
    lasting: bool = True  # the hashes of its functions are complete: what is compiled once may be kept

    @property
    def name(self) -> str:
        """The function's own name, for messages."""
        return self.function.qualname.rpartition(".")[2]


class CudaLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """How one kernel of a program was launched. None is what is not known."""

    kernel: str | None  # its mangled name
    block: Extent  # threads
    grid: Extent  # blocks; of one whose blocks are clusters (__block_size__) clusters
    dynamic_shared_memory: Count  # bytes per block
    cluster: Extent | None = None  # blocks, where the launch asks for clusters
    cooperative: bool = False  # all blocks must be resident at once
    # What the driver would let the kernel have when it was launched: only where the program opted in more bytes of
    # dynamic shared memory than 48 KiB less what is static, and clusters of more than 8 blocks.
    shared_memory_opt_in: Count | None = None
    non_portable_clusters: bool | None = None

    @property
    def threads(self) -> int:
        """Of a block."""
        return math.prod(self.block)

    @property
    def blocks(self) -> int:
        """Of the grid."""
        return math.prod(self.grid)


class CudaProgram(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="cuda"):
    """One program of CUDA C++ (or PTX), compiled through cuda-core, PyTorch or CuPy, and what is known of a launch."""

    name: str  # as it was given, or its first kernel's
    source: str
    code_type: str  # "c++" or "ptx"
    target_type: str  # "cubin", "ptx" or "ltoir"
    arch: str  # as asked for: "sm_90"
    # The arch was the running GPU's own, so that it would be another one on another device. A constant that
    # happens to name the running GPU cannot be told from it: on a machine without a GPU every arch is fixed.
    follows_device: bool
    options: dict[str, Any]  # as cuda-core's ProgramOptions, those that were set, in the form of values.encode
    name_expressions: tuple[str, ...] = ()
    launch: CudaLaunch | None = None  # None where only a compilation was seen
    obstacle: str | None = None


Kernel = TritonKernel | CudaProgram


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """Of an autotuned launch: which set of configurations this one belongs to."""

    group: str  # the same for all configurations of one call
    kept: bool  # False for one that the tuner's own pruning left out here
    open: bool = False  # on another device its tuner would choose among others too: that none fits proves nothing


class Launch(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="launch"):
    """A kernel that a test launched (or compiled); once per test and specialisation."""

    test: str  # pytest's node id
    kernel: Kernel
    grid: tuple[Count, ...] | None = None  # of the first such launch, where it is not computed
    raised: bool = False  # it was refused or failed where it ran
    alternative: Alternative | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="problem"):
    """Something of a test that could not be recorded: what it launched is not known in full."""

    test: str
    message: str


def digest(value: Any) -> str:
    """A name for equal content: the SHA-256 of its JSON, in hexadecimal."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
