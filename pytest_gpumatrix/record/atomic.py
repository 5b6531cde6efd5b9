"""Files that appear whole or not at all, and those that cannot be read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pytest_gpumatrix.errors import GpuMatrixError


def read_file(path: Path) -> bytes:
    """A results file's content; one that cannot be read is the user's to mend."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise GpuMatrixError(f"{path}: cannot be read: {error.strerror or error}") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that a failure leaves what was there."""
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
