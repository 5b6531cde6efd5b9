"""Where in the code under test a failure is: for annotations, which need a file of the repository and a line."""

from __future__ import annotations

import sys
from pathlib import Path, PurePath
from typing import Any

import pytest

from pytest_gpumatrix.record.cell import Place
from pytest_gpumatrix.triage.printable import printable

_INSTALLED = frozenset({"site-packages", "dist-packages"})


def failing_place(error: pytest.ExceptionInfo[BaseException], rootdir: Path) -> Place | None:
    """The last line of a traceback that lies inside the rootdir, but not in what is installed there.

    Frames that hide themselves (``__tracebackhide__``) are passed over, as pytest's own traceback does. Where no
    frame lies there, those of what the exception was raised from, or of what it groups, are looked at; None if none
    of those does either.
    """
    seen: set[int] = set()
    waiting: list[BaseException] = [error.value]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        if (place := _last_place(current, rootdir)) is not None:
            return place
        grouped = getattr(current, "exceptions", ())  # of an ExceptionGroup a tuple
        links = (*(grouped if isinstance(grouped, tuple) else ()), current.__cause__, current.__context__)
        waiting += [link for link in links if isinstance(link, BaseException)]
    return None


def definition(location: tuple[str, int | None, str]) -> Place | None:
    """Where a report says that its test is defined: pytest's ``location`` counts lines from 0."""
    file, line, _ = location
    return Place(file=_slashes(file), line=None if line is None else line + 1) if file else None


def file_of(test: str) -> Place:
    """All that a node id alone tells."""
    return Place(file=test.partition("::")[0])


def _last_place(raised: BaseException, rootdir: Path) -> Place | None:
    if raised.__traceback__ is None:
        return None
    error = pytest.ExceptionInfo.from_exception(raised)
    for entry in reversed(error.traceback.filter(error) or error.traceback):
        # Pytest tells a text where there is no such file: "<string>", or what a compiler made up.
        if isinstance(entry.path, Path) and (file := _inside(entry.path, rootdir)) is not None:
            return Place(file=file, line=entry.lineno + 1)
    return None


def _inside(path: Path, rootdir: Path) -> str | None:
    """The path as told from the rootdir; None if it is outside, or installed."""
    try:
        relative = path.relative_to(rootdir)
    except ValueError:
        try:
            relative = path.resolve().relative_to(rootdir.resolve())
        except ValueError:
            return None
    if _INSTALLED.intersection(relative.parts) or _of_an_environment(path, rootdir):
        return None
    return _slashes(str(relative))


def _of_an_environment(path: Path, rootdir: Path) -> bool:
    """Whether it is part of the Python that runs, in a repository that holds its own virtual environment."""
    prefix = Path(sys.prefix)
    return rootdir in prefix.parents and path.is_relative_to(prefix)


def _slashes(path: Any) -> str:
    return printable(PurePath(path).as_posix())
