"""A hash of all that a jit function's code depends on, the same whether it is interpreted or compiled."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

from pytest_gpumatrix.portability.tape.reach import reach_of


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceHash:
    """A name for equal sources."""

    text: str  # hexadecimal
    complete: bool  # False: something within reach could not be hashed, so that equal hashes prove less


def source_hash(function: FunctionType) -> SourceHash:
    """SHA-256 over which function it is, the files of it and of all it may reach, and the constants that these read.

    Triton's own ``cache_key`` has the same purpose, but cannot be computed while interpreting. Whole files are
    taken, so that an edit beside the kernel counts as a change: that costs a compilation and never misses one.
    It is computed anew for each call, for a test may replace a constant.
    """
    reach = reach_of(function)
    hasher = hashlib.sha256()
    for part in (*sorted(_file_hash(file) for file in reach.files), *sorted(reach.texts)):
        hasher.update(part.encode(errors="surrogatepass") + b"\n")
    return SourceHash(text=hasher.hexdigest(), complete=reach.complete)


def generated_hash(text: str, torch_version: str) -> str:
    """SHA-256 of a module that torch.compile generated, and of the release of torch, whose helpers it imports."""
    release = torch_version.partition("+")[0]
    return hashlib.sha256(f"{release}\n{text}".encode()).hexdigest()


def _file_hash(file: str) -> str:
    path = Path(file)
    stat = path.stat()
    return _hash_of_version(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=1024)
def _hash_of_version(path: Path, mtime: int, size: int) -> str:  # noqa: ARG001 - they make up the key
    return hashlib.sha256(path.read_bytes()).hexdigest()
