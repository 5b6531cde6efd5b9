"""What a fat binary carries, by the headers of its pieces: for those that cuobjdump does not read.

cuobjdump (of CUDA 13.1 and 13.5) ends with "Invalid ELF" for some libraries of CUDA 12, NVIDIA's own among them. NVIDIA
does not describe the headers; the tests hold what is read here against cuobjdump's own lists, and what is not as
expected is refused.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.portability.binaries.architecture import binary_of
from pytest_gpumatrix.portability.binaries.read_exactly import read_exactly

_MAGIC, _VERSION, _PIECE_VERSION = 0xBA55ED50, 1, 0x0101
_HEADER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of the pieces
_PIECE = struct.Struct("<HHIQ12xI8xQ")  # kind, version, size of this header, size of the code; architecture, flags
_PTX, _MACHINE_CODE = 1, 2
_SPECIFIC, _FAMILY = 1 << 20, 1 << 21
_MOST_PIECES, _MOST_PADDING = 1_000_000, 4096


def read_fatbin(file: BinaryIO, offset: int, size: int) -> Mapping[Binary, int]:
    """How many pieces of code for each architecture there are in a part of a file.

    ValueError for what is not as expected, also if there is neither machine code nor PTX.
    """
    found: Counter[Binary] = Counter()
    for number, (kind, arch, flags) in enumerate(_pieces(file, offset, size)):
        if number >= _MOST_PIECES:
            raise ValueError("it has more pieces of code than any library")
        if kind in (_PTX, _MACHINE_CODE):  # the others are not loaded, but linked
            suffix = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
            found[binary_of(f"sm_{arch}{suffix}", ptx=kind == _PTX)] += 1
    if not found:
        raise ValueError("it has neither machine code nor PTX")
    return found


def _pieces(file: BinaryIO, offset: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Kind, architecture and flags of each."""
    end, padding = offset + size, 0
    while offset < end:
        content = read_exactly(file, offset, min(_HEADER.size, end - offset))
        if not any(content) and padding < _MOST_PADDING:  # they begin on multiples of 8
            offset, padding = offset + 8, padding + 8
            continue
        magic, version, header, length = _HEADER.unpack(read_exactly(file, offset, _HEADER.size))
        if (magic, version, header) != (_MAGIC, _VERSION, _HEADER.size):
            raise ValueError("a fat binary of an unknown form")
        at, offset, padding = offset + header, offset + header + length, 0
        if offset > end:
            raise ValueError("it is cut off")
        while at < offset:
            kind, version, header, length, arch, flags = _PIECE.unpack(read_exactly(file, at, _PIECE.size))
            if version != _PIECE_VERSION or header < _PIECE.size:
                raise ValueError("a piece of code of an unknown form")
            yield kind, arch, flags
            at += header + length
