"""How kernels work, read from their machine code as NVIDIA's disassembler shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_gpumatrix.portability.compiling.kernel_figures import TensorPath
from pytest_gpumatrix.portability.compiling.machine import package_folders

# What counts is the machine code. PTX says what the assembler was asked for, and it may have no such instruction:
# for 9.0 `atom.add.noftz.bf16` is in the PTX and a compare-and-swap loop in the code, where the `.v8.bf16` form and
# `.bf16x2` are one instruction; an int4 or FP8 `mma` may become another one. But the assembler adds none of these of
# itself, so PTX without a word of them says that there are none, and the disassembler (0.25 to 0.6 s for a kernel of
# any size, which is more than many take to compile) need not be asked. Tried on kernels of Triton and of CUDA C++
# for 7.5, 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0.
_WORTH_A_LOOK = re.compile(r"\b(?:mma|wmma|wgmma|tcgen05|cp|atom|red|multimem)\s*\.")
# The names are those of CUDA Binary Utilities, "Instruction Set Reference"; those that it does not list were read from
# the kernels of the tests.
_TENSOR_PATHS = (
    (TensorPath.TCGEN05, re.compile(r"UTC\w*MMA\b")),
    (TensorPath.WGMMA, re.compile(r"[A-Z]GMMA\b")),
    (TensorPath.MMA, re.compile(r"[A-Z]MMA\b")),
)
_ASYNC_COPY = re.compile(r"LDGSTS\b")
_BULK_COPY = re.compile(r"UTMALDG\b|UBLKCP\.S\b")  # UTMASTG, UBLKCP.G: out of shared memory
_COMPARE_AND_SWAP = re.compile(r"ATOMG?\.(?:\w+\.)*CAS\b")
_ATOMIC = re.compile(r"(?:ATOM|ATOMG|RED|REDG|UTMAREDG|UBLKRED)\b")  # ATOMS: shared memory; REDUX: registers
_KERNEL = re.compile(r"^//-+ \.text\.(\S+) ", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.MULTILINE)
_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class HowItWorks:
    """Of one kernel; see ``KernelFigures`` for what is counted."""

    tensor_path: TensorPath = TensorPath.NONE
    async_copies: int = 0
    bulk_copies: int = 0
    atomics: int = 0
    compare_and_swaps: int = 0


NOTHING_OF_NOTE = HowItWorks()


def how_they_work(cubin: bytes, ptx: str | None, kernels: Iterable[str]) -> Mapping[str, HowItWorks]:
    """Of those kernels of a cubin of which it can be told. ``ptx`` is what it was assembled from, if that is known."""
    if ptx is not None and _WORTH_A_LOOK.search(ptx) is None:
        return dict.fromkeys(kernels, NOTHING_OF_NOTE)
    with tempfile.TemporaryDirectory(prefix="gpumatrix-") as folder:
        file = Path(folder) / "code.cubin"
        file.write_bytes(cubin)
        for disassembler in disassemblers():
            if (listing := _disassembled(disassembler, file)) is not None:
                return read_listing(listing)
    return {}


def read_listing(listing: str) -> Mapping[str, HowItWorks]:
    """The kernels in the output of ``nvdisasm -c -ndf``, by their (mangled) names."""
    parts = _KERNEL.split(listing)
    return {name: _count(text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def disassemblers() -> Iterator[Path]:
    """Where ``nvdisasm`` is: the package of that name, which is of one age with NVRTC, Triton's own, or on the PATH."""
    for package, place in (("nvidia", "*/bin/nvdisasm"), ("triton", "backends/nvidia/bin/nvdisasm")):
        for folder in package_folders(package):
            yield from sorted(folder.glob(place))
    if (on_path := shutil.which("nvdisasm")) is not None:
        yield Path(on_path)


def _disassembled(disassembler: Path, file: Path) -> str | None:
    """Its listing, without the branch targets that a data flow analysis finds, in a fifth less time."""
    try:
        return subprocess.run(  # noqa: S603 - the compiler's own tool
            [disassembler, "-c", "-ndf", file], capture_output=True, text=True, check=True, timeout=_SECONDS
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):  # older than the cubin, say: another may do
        return None


def _count(text: str) -> HowItWorks:
    code = Counter(_INSTRUCTION.findall(text))

    def number(pattern: re.Pattern[str]) -> int:
        return sum(count for name, count in code.items() if pattern.match(name))

    swaps = number(_COMPARE_AND_SWAP)
    return HowItWorks(
        tensor_path=next((path for path, pattern in _TENSOR_PATHS if number(pattern)), TensorPath.NONE),
        async_copies=number(_ASYNC_COPY),
        bulk_copies=number(_BULK_COPY),
        atomics=number(_ATOMIC) - swaps,
        compare_and_swaps=swaps,
    )
