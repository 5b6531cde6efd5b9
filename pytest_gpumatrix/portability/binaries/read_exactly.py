"""Parts of a file that may be cut off, or whose headers may be absurd."""

from __future__ import annotations

from typing import BinaryIO


def read_exactly(file: BinaryIO, offset: int, size: int) -> bytes:
    """So many bytes from an offset on; ValueError if the file has not as many."""
    try:
        file.seek(offset)
    except (OSError, OverflowError) as error:  # past what a file may be
        raise ValueError("it is cut off, or its headers are absurd") from error
    content = file.read(size)
    if len(content) < size:
        raise ValueError("it is cut off")
    return content
