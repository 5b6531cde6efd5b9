"""Whether an executable file carries CUDA code, by the names of its sections: little of the file is read."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

from pytest_gpumatrix.portability.binaries.read_exactly import read_exactly

# Where nvcc puts the fat binaries: those that the runtime loads, and those of separate compilation, for the linker.
# Source: CUDA Binary Utilities, "cuobjdump"; the names are those that `readelf -S` shows of nvcc's objects.
_ELF_SECTIONS = (b".nv_fatbin", b"__nv_relfatbin")
_PE_SECTIONS = frozenset(name[:8] for name in (b".nv_fatbin", b".nvFatBinSegment"))  # cut as PE cuts names
_ELF, _PE = b"\x7fELF", b"MZ"
_CUBIN_MACHINE = 190  # EM_CUDA: the file itself is machine code. Source: the ELF registry of machines
# Of what is not absurd; the largest libraries have some dozens of sections.
_MOST_SECTIONS, _LONGEST_NAMES = 70_000, 16 * 2**20
_PIECE = 2**20


def carries_cuda_code(file: BinaryIO) -> bool:
    """Whether an ELF or PE file carries CUDA code; False for what is neither, or not of 64 bits.

    ValueError where it cannot be told: the file is cut off, or its tables are absurd.
    """
    head = file.read(64)
    try:
        if head.startswith(_ELF):
            return _is_cubin(head) or any(name in _ELF_SECTIONS for name, _, _ in _elf_sections(file, head))
        return head.startswith(_PE) and any(name in _PE_SECTIONS for name in _pe_sections(file, head))
    except struct.error as error:
        raise ValueError("it is cut off") from error


def mentions_fat_binaries(file: BinaryIO) -> bool:
    """Whether the names of their sections are anywhere in a file: for a static library, whose members are not read."""
    overlap = max(map(len, _ELF_SECTIONS)) - 1
    before = b""
    while piece := file.read(_PIECE):
        if any(name in before + piece for name in _ELF_SECTIONS):
            return True
        before = piece[-overlap:]
    return False


def fat_binary_of(file: BinaryIO) -> tuple[int, int]:
    """Where the fat binaries are in a file that carries CUDA code: offset and size of their section, or the whole file.

    Those that the runtime loads, if there are any. ValueError for a file without.
    """
    head = file.read(64)
    if not head.startswith(_ELF):
        return 0, file.seek(0, os.SEEK_END)
    try:
        found = {name: (offset, size) for name, offset, size in _elf_sections(file, head)}
    except struct.error as error:
        raise ValueError("it is cut off") from error
    for name in _ELF_SECTIONS:
        if name in found:
            return found[name]
    raise ValueError("it has no section of fat binaries")


def is_windows_library(file: BinaryIO) -> bool:
    """Whether it begins as a file in Windows' format, from where it stands."""
    return file.read(2) == _PE


def _is_cubin(head: bytes) -> bool:
    return bool(struct.unpack_from("<H", head, 18)[0] == _CUBIN_MACHINE)


def _elf_sections(file: BinaryIO, head: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, offset and size of each section. Fields and sizes: the ELF-64 object file format, figures 2 and 3."""
    if head[4:6] != b"\x02\x01":  # CUDA has 64 bits and little-endian hosts alone
        return
    [table] = struct.unpack_from("<Q", head, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", head, 0x3A)
    if table == 0:
        raise ValueError("it has no table of sections, which may have been stripped")
    first = struct.unpack("<IIQQQQII", read_exactly(file, table, 48))
    count, names_index = count or first[5], first[6] if names_index == 0xFFFF else names_index
    if size != 64 or count > _MOST_SECTIONS or names_index >= count:
        raise ValueError(f"its table of sections is absurd: {count:,} sections of {size} bytes")
    headers = read_exactly(file, table, 64 * count)
    offset, length = struct.unpack_from("<QQ", headers, 64 * names_index + 24)
    if length > _LONGEST_NAMES:
        raise ValueError(f"the names of its sections are absurd: {length:,} bytes")
    names = read_exactly(file, offset, length)
    for number in range(count):
        start, at, extent = struct.unpack_from("<I20xQQ", headers, 64 * number)
        yield names[start : start + 64].partition(b"\0")[0], at, extent


def _pe_sections(file: BinaryIO, head: bytes) -> Iterator[bytes]:
    """The same of Windows' format. Source: PE Format, "COFF File Header" and "Section Table"."""
    [at] = struct.unpack_from("<I", head, 0x3C)
    signature, count, optional = struct.unpack("<4s2xH12xH2x", read_exactly(file, at, 24))
    if signature != b"PE\0\0":
        return  # a program of MS-DOS
    headers = read_exactly(file, at + 24 + optional, 40 * count)
    for number in range(count):
        yield headers[40 * number : 40 * number + 8].rstrip(b"\0")
