"""What the kernels of a cubin take, read from the file itself: an ELF file with NVIDIA's own sections.

The sections and attributes are those that ``cuobjdump -elf`` shows (CUDA Binary Utilities).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.compiling.kernel_figures import KernelFigures
from pytest_gpumatrix.portability.tape.launch import Extent

# EIATTR_MAX_THREADS, EIATTR_REQNTID, EIATTR_REGCOUNT, EIATTR_NUM_BARRIERS
_MAX_THREADS, _REQUIRED_THREADS, _REGISTERS, _BARRIERS = 0x05, 0x10, 0x2F, 0x4C
# EIATTR_CTA_PER_CLUSTER, EIATTR_EXPLICIT_CLUSTER, EIATTR_MAX_CLUSTER_RANK, EIATTR_BLOCKS_ARE_CLUSTERS
_CLUSTER, _EXPLICIT_CLUSTER, _MAX_CLUSTER, _BLOCKS_ARE_CLUSTERS = 0x3D, 0x3E, 0x3F, 0x5B
_SIZED = 0x04  # EIFMT_SVAL: the value follows, and its size stands where other formats have a value
# Shared memory that the system keeps per block, which the section counts and the limit of a block does not.
# Source: CUDA Programming Guide, "Compute Capabilities"; from 9.0 on the compiler places it.
_RESERVED, _RESERVED_SINCE = 1024, ComputeCapability(9, 0)


def read_cubin(content: bytes, capability: ComputeCapability) -> Mapping[str, KernelFigures]:
    """The kernels by their (mangled) names. ValueError if it is not a cubin as this reader knows them."""
    try:
        return _read(content, _RESERVED if capability >= _RESERVED_SINCE else 0)
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise ValueError(f"not a cubin that can be read: {error}") from error


def _read(content: bytes, reserved: int) -> dict[str, KernelFigures]:
    if content[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        raise ValueError("not a cubin: no ELF header")
    sections = _sections(content)
    shared = {name.removeprefix(".nv.shared."): size for name, (_, size) in sections.items()}
    symbols = _symbols(content, sections)
    registers = {}
    for attribute, value in _attributes(_bytes_of(content, sections[".nv.info"])):
        if attribute == _REGISTERS:
            symbol, count = struct.unpack("<II", value)
            registers[symbols[symbol]] = count
    figures = {}
    for kernel in (name.removeprefix(".text.") for name in sections if name.startswith(".text.")):
        info = dict(_attributes(_bytes_of(content, sections[f".nv.info.{kernel}"])))
        figures[kernel] = KernelFigures(
            static_shared_memory=max(0, shared.get(kernel, 0) - reserved),
            registers=registers[kernel],
            barriers=info.get(_BARRIERS, b"\0")[0],
            max_threads=_product(info.get(_MAX_THREADS)),
            required_block=_extent(info.get(_REQUIRED_THREADS)),
            cluster=_extent(info.get(_CLUSTER)),
            needs_cluster=_EXPLICIT_CLUSTER in info,
            max_cluster=_product(info.get(_MAX_CLUSTER)),
            blocks_are_clusters=_BLOCKS_ARE_CLUSTERS in info,
        )
    return figures


def _sections(content: bytes) -> dict[str, tuple[int, int]]:
    """Offset and size of each section, by name."""
    [table] = struct.unpack_from("<Q", content, 0x28)
    count, names_index = struct.unpack_from("<HH", content, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", content, table + 64 * number) for number in range(count)]
    names = headers[names_index][4]
    return {_text_at(content, names + name): (offset, size) for name, _, _, _, offset, size in headers}


def _symbols(content: bytes, sections: Mapping[str, tuple[int, int]]) -> list[str]:
    table, size = sections[".symtab"]
    names, _ = sections[".strtab"]
    return [
        _text_at(content, names + struct.unpack_from("<I", content, at)[0]) for at in range(table, table + size, 24)
    ]


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    """Each with its value: what follows it, or the two bytes that stand in its place."""
    at = 0
    while at < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        length = size if form == _SIZED else 0
        yield attribute, info[at : at + length] if form == _SIZED else info[at - 2 : at]
        at += length


def _product(value: bytes | None) -> int | None:
    """Of the whole numbers of an attribute; None where there is no such attribute."""
    return math.prod(number for [number] in struct.iter_unpack("<I", value)) if value else None


def _extent(value: bytes | None) -> Extent | None:
    """In x, y and z; None where there is no such attribute."""
    if not value:
        return None
    x, y, z = struct.unpack("<III", value)
    return x, y, z


def _bytes_of(content: bytes, section: tuple[int, int]) -> bytes:
    offset, size = section
    return content[offset : offset + size]


def _text_at(content: bytes, at: int) -> str:
    return content[at : content.index(b"\0", at)].decode()
