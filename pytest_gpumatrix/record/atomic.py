"""Files that appear whole or not at all, and those that cannot be read."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

from pytest_gpumatrix.errors import GpuMatrixError

_DEVICES = Path("/dev")  # where a standard stream has a name even if it is a file
LARGEST = 1 << 30  # bytes of one results file: a run of 20,000 tests writes about 10 MB


def open_file(path: Path) -> BinaryIO:
    """A results file, open for reading. What is no regular file (a pipe would never end) and one that is too large
    are the user's to mend; a link is followed if a regular file is at its end.
    """
    try:
        # Without blocking: a pipe that nobody writes would be waited for at this point.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise GpuMatrixError(f"{path}: cannot be read: {error.strerror or error}") from error
    if problem := _problem(os.fstat(handle)):
        os.close(handle)
        raise GpuMatrixError(f"{path}: cannot be read: {problem}")
    return os.fdopen(handle, "rb", buffering=0)


def read_file(path: Path) -> bytes:
    """A results file's content."""
    with open_file(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise GpuMatrixError(f"{path}: cannot be read: {error.strerror or error}") from error


def _problem(status: os.stat_result) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_size > LARGEST:
        return f"it has {status.st_size:,} bytes, and a results file at most {LARGEST:,}"
    return None


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that a failure leaves what was there.

    What is no file (/dev/null, a pipe) is written into: root could put a file in its place, for all other programs.
    """
    if path.absolute().parent == _DEVICES or (path.exists() and not path.is_file() and not path.is_dir()):
        path.write_bytes(content)
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
