"""Where the sources of a tape are on this machine. A tape may come from another one, and from anybody."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.tape.launch import CudaProgram, FunctionReference, Kernel
from pytest_gpumatrix.portability.tape.sources import file_hash
from pytest_gpumatrix.portability.tape.tape import Header


def located(header: Header, tape: Path, rootdir: Path | None, own_path: Sequence[str]) -> Header:
    """The header with a rootdir and a search path of this machine.

    ``rootdir`` is where the sources are, if not where they were recorded; ``own_path`` is where this Python looks for
    modules. Of the tape's search path only what is inside of its rootdir is taken: packages are those of this Python.
    GpuMatrixError where there is no such folder, or where the tape alone names one that is not around the current one.
    """
    recorded = os.path.normpath(header.rootdir)
    root = _real(rootdir or recorded, strict=True)
    if root is None or not root.is_dir() or not (rootdir or Path(recorded).is_absolute()):
        if rootdir is not None:
            raise GpuMatrixError(f"--rootdir {rootdir}: no such folder")
        raise GpuMatrixError(
            f"{tape} was recorded in {header.rootdir}, which is not here: say by --rootdir where the same sources are"
        )
    if rootdir is None and not _may_be_chosen(root):
        raise GpuMatrixError(
            f"{tape} says that it was recorded in {root}; a tape may come from anybody, and modules would be imported "
            f"from there: if you trust them, say so by --rootdir {root}, or go there first"
        )
    inside = [root / part for part in _inside(header.sys_path, recorded)]
    found = [str(folder) for folder in inside if _is_within(_real(folder, strict=True), [root])]
    own = [entry for entry in own_path if entry]
    return msgspec.structs.replace(header, rootdir=str(root), sys_path=tuple(dict.fromkeys([*found, *own])))


class Boundary:
    """Refuses kernels whose sources are where a ``located`` header does not look, or are not as they were recorded.

    Who compiles a kernel imports its module: a tape must not choose any file of this machine. And what was compiled
    before is found by the hash that the tape holds, so that here is the one place where today's files are looked at.
    """

    def __init__(self, header: Header) -> None:
        self._root = Path(header.rootdir)
        self._folders = [Path(folder).resolve() for folder in (header.rootdir, *header.sys_path)]
        self._here: dict[str, Path | None] = {}  # by file, as it stands on the tape; None: outside
        self._hashes: dict[str, str | None] = {}  # of what is inside; None: it is not there

    def checked(self, kernel: Kernel) -> Kernel:
        """The kernel; with an obstacle, if the sources of it, or of a function that it is given, are not to be used.

        Where some of them cannot be compared here, it is not ``lasting``: it is compiled anew, which compares all.
        """
        if isinstance(kernel, CudaProgram) or kernel.obstacle is not None:
            return kernel
        references = [kernel.function, *_references([kernel.constants, kernel.options])]
        obstacle = next(filter(None, map(self._obstacle, references)), None)
        if obstacle is not None:
            return msgspec.structs.replace(kernel, obstacle=obstacle)
        if all(self._is_comparable(file) for reference in references for file in reference.files):
            return kernel
        return msgspec.structs.replace(kernel, lasting=False)

    def _obstacle(self, reference: FunctionReference) -> str | None:
        file = reference.file
        if self._inside(file) is None:
            where = f"outside of {self._root} and of where this Python looks for modules"
            return f"cannot be rebuilt: {file} is {where}"
        if reference.text is not None:  # generated: the tape itself holds the source
            return None
        if file not in reference.files:
            return f"cannot be rebuilt: the tape does not tell what {file} held"
        for name, recorded in reference.files.items():
            if self._is_comparable(name) and (found := self._hash_of(name)) != recorded:
                what = "has changed since it was recorded" if found is not None else "is not there"
                return f"sources differ: {name} {what}"
        return None

    def _is_comparable(self, file: str) -> bool:
        """Whether it belongs here: what is installed may lie elsewhere than where it was recorded."""
        return self._inside(file) is not None and (not Path(file).is_absolute() or self._hash_of(file) is not None)

    def _inside(self, file: str) -> Path | None:
        if file not in self._here:
            real = _real(self._root / file, strict=False)
            self._here[file] = real if _is_within(real, self._folders) else None
        return self._here[file]

    def _hash_of(self, file: str) -> str | None:
        if file not in self._hashes:
            place = self._inside(file)
            try:
                # A pipe would keep whoever opens it.
                self._hashes[file] = file_hash(place) if place is not None and place.is_file() else None
            except OSError:
                self._hashes[file] = None
        return self._hashes[file]


def _may_be_chosen(root: Path) -> bool:
    """Whether a tape itself may say that its sources are there: who calls is in that project, or just above it."""
    here = _real(os.curdir, strict=True)
    try:
        home = _real(Path.home(), strict=True)
    except RuntimeError:  # this user has none
        home = None
    if here is None or root == Path(root.anchor) or _is_within(home, [root]):
        return False
    return _is_within(here, [root]) or root.is_relative_to(here)


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


def _references(value: Any) -> Iterator[FunctionReference]:
    """The functions among encoded values; see ``values.encode``. What is none there is none for who decodes it."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            with suppress(msgspec.ValidationError):
                yield msgspec.convert(item.get("function"), FunctionReference)
            left.extend(item.values())
        elif isinstance(item, (list, tuple)):
            left.extend(item)
