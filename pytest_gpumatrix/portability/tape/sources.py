"""A hash of all that a jit function's code depends on, the same whether it is interpreted or compiled."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

from pytest_gpumatrix.portability.tape.reach import reach_of

_PIECE = 1 << 20  # bytes
_WHEEL = re.compile(r"\+(cpu|cu\d+|rocm[\d.]+|xpu)$")  # which of PyTorch's wheels of a release it is


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceHash:
    """A name for equal sources."""

    text: str  # hexadecimal
    files: Mapping[str, str]  # that it covers, each with the SHA-256 of its content
    complete: bool  # False: something within reach could not be hashed, so that equal hashes prove less


def source_hash(function: FunctionType) -> SourceHash:
    """SHA-256 over which function it is, the files of it and of all it may reach, and the constants that these read.

    Triton's own ``cache_key`` has the same purpose, but cannot be computed while interpreting. Whole files are
    taken, so that an edit beside the kernel counts as a change: that costs a compilation and never misses one.
    It is computed anew for each call, for a test may replace a constant.
    """
    reach = reach_of(function)
    hasher = hashlib.sha256()
    files = {file: file_hash(file) for file in sorted(reach.files)}
    for part in (*sorted(files.values()), *sorted(reach.texts)):
        hasher.update(part.encode(errors="surrogatepass") + b"\n")
    return SourceHash(text=hasher.hexdigest(), files=files, complete=reach.complete)


def generated_hash(text: str, torch_version: str) -> str:
    """SHA-256 of a module that torch.compile generated, and of the version of torch, whose helpers it imports.

    Wheels of one release for a CPU and for a GPU have the same helpers; other builds are told apart.
    """
    version = _WHEEL.sub("", torch_version)
    return hashlib.sha256(f"{version}\n{text}".encode()).hexdigest()


def file_hash(file: str | Path) -> str:
    """SHA-256 of a file's content, in hexadecimal; read again only when its time or size changes. Raises OSError."""
    path = Path(file)
    stat = path.stat()
    return _hash_of_version(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=1024)
def _hash_of_version(path: Path, mtime: int, size: int) -> str:  # noqa: ARG001 - they make up the key
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            hasher.update(piece)
    return hasher.hexdigest()
