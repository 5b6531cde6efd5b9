"""Where the sources of a tape are on this machine. A tape may come from another one, and from anybody."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.tape.launch import CudaProgram, Kernel
from pytest_gpumatrix.portability.tape.tape import Header


def located(header: Header, tape: Path, rootdir: Path | None, own_path: Sequence[str]) -> Header:
    """The header with a rootdir and a search path of this machine.

    ``rootdir`` is where the sources are, if not where they were recorded; ``own_path`` is where this Python looks for
    modules. Of the tape's search path only what is inside of its rootdir is taken: packages are those of this Python.
    GpuMatrixError where there is no such folder.
    """
    recorded = os.path.normpath(header.rootdir)
    root = _real(rootdir or recorded, strict=True)
    if root is None or not root.is_dir() or not (rootdir or Path(recorded).is_absolute()):
        if rootdir is not None:
            raise GpuMatrixError(f"--rootdir {rootdir}: no such folder")
        raise GpuMatrixError(
            f"{tape} was recorded in {header.rootdir}, which is not here: say by --rootdir where the same sources are"
        )
    inside = [root / part for part in _inside(header.sys_path, recorded)]
    found = [str(folder) for folder in inside if _is_within(_real(folder, strict=True), [root])]
    own = [entry for entry in own_path if entry]
    return msgspec.structs.replace(header, rootdir=str(root), sys_path=tuple(dict.fromkeys([*found, *own])))


class Boundary:
    """Refuses kernels of files where a ``located`` header does not look.

    Who compiles a kernel imports its module: a tape must not choose any file of this machine.
    """

    def __init__(self, header: Header) -> None:
        self._root = Path(header.rootdir)
        self._folders = [Path(folder).resolve() for folder in (header.rootdir, *header.sys_path)]
        self._inside: dict[str, bool] = {}  # by file, as it stands on the tape

    def checked(self, kernel: Kernel) -> Kernel:
        """The kernel; with an obstacle, if it or a function that it is given is outside."""
        if isinstance(kernel, CudaProgram) or kernel.obstacle is not None:
            return kernel
        for file in (kernel.function.file, *_files([kernel.constants, kernel.options])):
            if file not in self._inside:
                self._inside[file] = self._is_inside(file)
            if not self._inside[file]:
                where = f"outside of {self._root} and of where this Python looks for modules"
                return msgspec.structs.replace(kernel, obstacle=f"cannot be rebuilt: {file} is {where}")
        return kernel

    def _is_inside(self, file: str) -> bool:
        return _is_within(_real(self._root / file, strict=False), self._folders)


def _real(path: Path | str, *, strict: bool) -> Path | None:
    """A path with its links followed. None for what is no path, or if ``strict`` is not there."""
    try:
        return Path(os.path.realpath(path, strict=strict))
    except (OSError, ValueError):
        return None


def _is_within(path: Path | None, folders: Iterable[Path]) -> bool:
    return path is not None and any(path.is_relative_to(folder) for folder in folders)


def _inside(entries: Sequence[str], folder: str) -> Iterator[str]:
    """The entries that are inside a folder, relative to it. Text alone decides: it need not be of this machine."""
    for entry in map(os.path.normpath, entries):
        if entry == folder or entry.startswith(folder.rstrip(os.sep) + os.sep):
            yield os.path.relpath(entry, folder)


def _files(value: Any) -> Iterator[str]:
    """The files of the functions among encoded values; see ``values.encode``."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            reference = item.get("function")
            if isinstance(reference, dict) and isinstance(reference.get("file"), str):
                yield reference["file"]
            left.extend(item.values())
        elif isinstance(item, (list, tuple)):
            left.extend(item)
