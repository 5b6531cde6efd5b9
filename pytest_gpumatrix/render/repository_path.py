"""A file that results name, as a path that may be told to others: inside the repository, or none."""

from __future__ import annotations

import functools
import re

_LONGEST = 1000  # characters
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@functools.lru_cache(maxsize=4096)  # a report asks it of every failure, and they are of few files
def repository_path(file: str) -> str | None:
    """The path with slashes and without "./". None for one that leads elsewhere, or that no file of ours bears.

    Whoever shows an annotation opens what it names, and the name comes from the code under test.
    """
    path = file.replace("\\", "/")
    if not path or len(path) > _LONGEST or path.startswith(("/", "~")) or _DRIVE.match(path) or _CONTROL.search(path):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts) if parts and ".." not in parts else None


def repository_line(line: int | None) -> int | None:
    """A line that a file can have."""
    return line if line is not None and 0 < line < 10_000_000 else None


def split_place(place: str) -> tuple[str, int | None]:
    """ "gpumatrix.yml:12" -> its file and line."""
    file, colon, line = place.rpartition(":")
    return (file, int(line)) if colon and line.isdecimal() and len(line) < 9 else (place, None)
