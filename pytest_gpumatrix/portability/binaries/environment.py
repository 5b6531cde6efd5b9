"""Where the packages of an environment are, and which distribution each file comes from."""

from __future__ import annotations

import csv
import importlib.metadata
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.binaries.candidates import NotRead

# What a broken or hostile folder of metadata raises, by the version of Python.
_BROKEN = (OSError, ValueError, TypeError, KeyError, StopIteration, csv.Error, importlib.metadata.PackageNotFoundError)
_PACKAGES = ("site-packages", "dist-packages")
# Where a Python keeps its packages, from the folder of the environment: Linux, Debian, Windows.
_PLACES = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "lib/python3/dist-packages",
    "local/lib/python3*/dist-packages",
    "Lib/site-packages",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """What to look through."""

    name: str  # for people
    roots: tuple[Path, ...]  # folders, or one file
    packages: tuple[Path, ...]  # folders with the metadata of distributions


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Origin:
    """The distribution that a file comes from; without a version, the folder or file that it is in."""

    name: str
    version: str | None = None


def this_environment(search_path: Sequence[str]) -> Environment:
    """The environment of the running interpreter: the folders of packages on its search path."""
    folders = [Path(entry).absolute() for entry in search_path if Path(entry).name in _PACKAGES]
    packages = tuple(_distinct(folder for folder in folders if folder.is_dir()))
    if not packages:
        raise GpuMatrixError("this Python has no folder of packages: name an environment, a folder or a file")
    return Environment(name=f"the environment of {sys.executable}", roots=packages, packages=packages)


def environment_at(place: Path) -> Environment:
    """A virtual environment, a folder of packages, any folder, or one file. GpuMatrixError if it is not there."""
    place = place.absolute()
    try:
        place.stat()
    except (OSError, ValueError) as error:
        raise GpuMatrixError(
            f"{place}: {getattr(error, 'strerror', None) or error}: name an environment, a folder or a file"
        ) from error
    if not place.is_dir():
        return Environment(name=str(place), roots=(place,), packages=tuple(_above(place)))
    inside = tuple(_distinct(folder for pattern in _PLACES for folder in sorted(place.glob(pattern))))
    if (place / "pyvenv.cfg").is_file() and inside:
        return Environment(name=str(place), roots=inside, packages=inside)
    return Environment(name=str(place), roots=(place,), packages=(place, *inside, *_above(place)))


class Origins:
    """Which distribution each file of an environment comes from, by what was recorded when they were installed."""

    def __init__(self, environment: Environment) -> None:
        self._roots = environment.roots
        self._by_file: dict[str, Origin] = {}
        self.not_read: list[NotRead] = []
        for folder in environment.packages:
            for distribution in importlib.metadata.distributions(path=[str(folder)]):
                self._add(folder, distribution)

    def of(self, file: Path) -> Origin:
        """The distribution of a file; where none claims it, the first folder under the root, or the file."""
        known = self._by_file.get(os.path.normpath(file))
        if known is not None:
            return known
        root = next((root for root in self._roots if file != root and file.is_relative_to(root)), None)
        return Origin(name=file.relative_to(root).parts[0] if root is not None else file.name)

    def _add(self, folder: Path, distribution: importlib.metadata.Distribution) -> None:
        try:
            origin = Origin(name=distribution.name or "unnamed", version=distribution.version)
            files = distribution.files or ()
        except _BROKEN as error:
            reason = f"of a distribution there, the record of its files cannot be read: {error}"
            self.not_read.append(NotRead(path=folder, reason=reason))
            return
        for file in files:
            self._by_file[os.path.normpath(folder / file)] = origin


def _above(place: Path) -> Iterator[Path]:
    """The folder of packages that a place is in."""
    for folder in place.parents:
        if folder.name in _PACKAGES:
            yield folder
            return


def _distinct(folders: Iterator[Path]) -> Iterator[Path]:
    seen = set()
    for folder in folders:
        real = os.path.realpath(folder)
        if real not in seen and Path(real).is_dir():
            seen.add(real)
            yield folder
