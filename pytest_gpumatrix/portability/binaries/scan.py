"""Looks through an environment for libraries with CUDA code, and says which devices they leave out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.binaries.candidates import NotRead, find_candidates
from pytest_gpumatrix.portability.binaries.cuobjdump import CannotListError, Cuobjdump, list_ptx
from pytest_gpumatrix.portability.binaries.environment import Environment, Origin, Origins
from pytest_gpumatrix.portability.binaries.fatbin import read_fatbin
from pytest_gpumatrix.portability.binaries.sections import fat_binary_of
from pytest_gpumatrix.portability.binaries.support import Carried, Coverage, Library, ReadBy


def scan_binaries(
    environment: Environment, devices: Mapping[str, Profile], *, jobs: int, progress: Callable[[int, int], None]
) -> Coverage:
    """List what each file carries, ``jobs`` files at a time. ``progress`` is told how many of all are done.

    Nothing of the environment is run or imported. What cannot be read is named in ``not_read``. GpuMatrixError where
    cuobjdump is needed and there is none, or the one file that is looked at carries no CUDA code.
    """
    found = [item for root in environment.roots for item in find_candidates(root)]
    files = [item for item in found if isinstance(item, Path)]
    not_read = [item for item in found if isinstance(item, NotRead)]
    tool = Cuobjdump.find() if any(not _is_ptx(file) for file in files) else None
    origins = Origins(environment)
    listed = _list_all(files, tool, jobs, progress)
    libraries = [item for item in listed if isinstance(item, Library)]
    not_read += [*(item for item in listed if isinstance(item, NotRead)), *origins.not_read]
    return Coverage(
        environment=environment.name,
        tool=tool.origin if tool is not None else None,
        devices=devices,
        carried=_by_origin(libraries, origins),
        not_read=not_read,
        files=len(found),
    )


def _list_all(
    files: Sequence[Path], tool: Cuobjdump | None, jobs: int, progress: Callable[[int, int], None]
) -> list[Library | NotRead]:
    found = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for item in pool.map(lambda file: _list_one(file, tool), files):
            found.append(item)
            progress(len(found), len(files))
    return found


def _list_one(file: Path, tool: Cuobjdump | None) -> Library | NotRead:
    try:
        if tool is None or _is_ptx(file):
            return _library(file, list_ptx(file), ReadBy.TEXT)
        return _list_code(file, tool)
    except CannotListError as error:
        return NotRead(path=file, reason=str(error))
    except OSError as error:  # it went away meanwhile
        return NotRead(path=file, reason=f"it cannot be read: {error.strerror or error}")


def _list_code(file: Path, tool: Cuobjdump) -> Library:
    """By cuobjdump; where it fails, by the file's own headers, if these are as they should be."""
    try:
        return _library(file, tool.list_code(file), ReadBy.CUOBJDUMP)
    except CannotListError as error:
        try:
            with file.open("rb") as opened:
                return _library(file, read_fatbin(opened, *fat_binary_of(opened)), ReadBy.HEADERS)
        except ValueError as other:
            raise CannotListError(f"{error}; nor can its headers be read: {other}") from other


def _library(file: Path, code: Mapping[Binary, int], read_by: ReadBy) -> Library:
    ordered = dict(sorted(code.items(), key=lambda entry: _order(entry[0])))
    return Library(path=file, code=ordered, read_by=read_by)


def _is_ptx(file: Path) -> bool:
    return file.suffix.lower() == ".ptx"


def _order(binary: Binary) -> tuple[object, ...]:
    return binary.ptx, binary.capability, binary.suffix


def _by_origin(libraries: Sequence[Library], origins: Origins) -> list[Carried]:
    groups: dict[Origin, list[Library]] = defaultdict(list)
    for library in libraries:
        groups[origins.of(library.path)].append(library)
    return [
        Carried(origin=origin, libraries=tuple(members))
        for origin, members in sorted(groups.items(), key=lambda entry: (entry[0].name.lower(), entry[0].version or ""))
    ]
