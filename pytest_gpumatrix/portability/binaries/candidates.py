"""The files of a folder that may carry CUDA code: found by name and by their sections, without running anything."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.binaries.sections import (
    carries_cuda_code,
    is_windows_library,
    mentions_fat_binaries,
)

_WITH_SECTIONS = (".so", ".pyd", ".dll", ".o")
_WINDOWS = (".pyd", ".dll")
_CODE = (".cubin", ".fatbin", ".ptx")  # the file is CUDA code
_ARCHIVES = (".whl", ".zip", ".egg", ".tar", ".tgz", ".conda")
_STATIC = ".a"
_NOT_ENTERED = frozenset({"__pycache__", ".git"})


@dataclass(frozen=True, kw_only=True, slots=True)
class NotRead:
    """A file whose CUDA code could not be read, and why."""

    path: Path
    reason: str


def find_candidates(root: Path) -> Iterator[Path | NotRead | None]:
    """The files under a folder that carry CUDA code, in order, and None for each other; or the file that is given.

    Each file once, whatever it is called. Links to folders are not followed: one that leads out of ``root`` is a
    NotRead. So is whatever could not be opened, is cut off, is an archive, or is no file at all though it is called
    like one. GpuMatrixError for a file that is given and carries no CUDA code.
    """
    seen: set[tuple[int, int]] = set()
    if root.is_dir():
        for path in _files(root, Path(os.path.realpath(root))):
            yield _candidate(path, seen) if isinstance(path, Path) else path
        return
    found = _candidate(root, seen)
    if found is None:
        raise GpuMatrixError(f"{root} carries no CUDA code: name a library, a cubin, a fatbin, PTX, or a folder")
    yield found


def _files(folder: Path, root: Path) -> Iterator[Path | NotRead | None]:
    """None for what is no candidate. Depth first, without recursion: a folder may be as deep as it can be."""
    left = [folder]
    while left:
        current = left.pop()
        try:
            with os.scandir(current) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield NotRead(path=current, reason=_why(error))
            continue
        inside = []
        for entry in entries:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _NOT_ENTERED:
                    inside.append(path)
            elif _is_link_to_a_folder(entry):
                if not Path(os.path.realpath(path)).is_relative_to(root):
                    yield NotRead(path=path, reason="a link to a folder elsewhere: scan that folder too")
            else:
                yield path if _may_carry_code(entry) else None
        left += reversed(inside)


def _is_link_to_a_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:  # a loop of links
        return False


def _may_carry_code(entry: os.DirEntry[str]) -> bool:
    """By its name, or by its being executable."""
    name = entry.name.lower()
    if _is_named_as_code(name) or _is_archive(name) or name.endswith(_STATIC):
        return True
    try:
        return "." not in name and bool(entry.stat().st_mode & 0o111)
    except OSError:  # a broken link, or a loop of them
        return False


def _candidate(path: Path, seen: set[tuple[int, int]]) -> Path | NotRead | None:
    """The path if it carries CUDA code; None if it does not, or was seen under another name."""
    name = path.name.lower()
    try:
        state = path.stat()
        if (state.st_dev, state.st_ino) in seen:
            return None
        seen.add((state.st_dev, state.st_ino))
        if not stat.S_ISREG(state.st_mode):  # opening a pipe would wait for its writer
            return NotRead(path=path, reason="it is no regular file") if _is_named_as_code(name) else None
        if name.endswith(_CODE):
            return path
        if _is_archive(name):
            return NotRead(path=path, reason="an archive: unpack it, and scan what was in it")
        with path.open("rb") as file:
            if name.endswith(_STATIC):
                reason = "a static library with CUDA code: unpack it by `ar x`, or scan what it is linked into"
                return NotRead(path=path, reason=reason) if mentions_fat_binaries(file) else None
            if not carries_cuda_code(file):
                return None
            file.seek(0)
            if is_windows_library(file):
                return NotRead(path=path, reason="it carries CUDA code in Windows' format, which is not read")
    except OSError as error:
        return NotRead(path=path, reason=_why(error))
    except ValueError as error:
        return NotRead(path=path, reason=f"whether it carries CUDA code cannot be told: {error}")
    return path


def _is_named_as_code(name: str) -> bool:
    return name.endswith((*_WITH_SECTIONS, *_CODE)) or ".so." in name


def _is_archive(name: str) -> bool:
    return name.endswith(_ARCHIVES) or ".tar." in name


def _why(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or error}"
