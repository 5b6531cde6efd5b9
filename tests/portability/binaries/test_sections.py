from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gpumatrix.portability.binaries.fatbin import read_fatbin
from pytest_gpumatrix.portability.binaries.sections import carries_cuda_code, fat_binary_of
from tests.portability.binaries.samples import CARRIED, SAMPLES, counted

LIBRARY = (SAMPLES / "library.so").read_bytes()


def windows_library(*names: bytes) -> bytes:
    """As much of one as tells its sections."""
    dos = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, len(names), 0, 0, 0, 8, 0)
    return dos + coff + b"\0" * 8 + b"".join(name[:8].ljust(40, b"\0") for name in names)


def absurd(**fields: int) -> bytes:
    """The library with other fields in its header: where its table of sections is, their size and count, the names'."""
    places = {"table": (0x28, "<Q"), "size": (0x3A, "<H"), "count": (0x3C, "<H"), "names": (0x3E, "<H")}
    content = bytearray(LIBRARY)
    for field, value in fields.items():
        at, form = places[field]
        struct.pack_into(form, content, at, value)
    return bytes(content)


def of_many_sections() -> bytes:
    """The library with its count of sections and the index of their names where they are from 65,280 sections on:
    in the first section's size and link. Source: the ELF-64 object file format, "Section table"."""
    content = bytearray(LIBRARY)
    [table] = struct.unpack_from("<Q", content, 0x28)
    count, names = struct.unpack_from("<HH", content, 0x3C)
    struct.pack_into("<HH", content, 0x3C, 0, 0xFFFF)
    struct.pack_into("<Q", content, table + 32, count)
    struct.pack_into("<I", content, table + 40, names)
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "carries"),
    [
        (of_many_sections(), True),
        *(((SAMPLES / name).read_bytes(), True) for name in CARRIED if not name.endswith(".fatbin")),
        ((SAMPLES / "lto.so").read_bytes(), True),
        ((SAMPLES / "plain.so").read_bytes(), False),
        (windows_library(b".text", b".nv_fatbin"), True),
        (windows_library(b".text", b".rdata"), False),
        (b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + b"NE".ljust(64, b"\0"), False),
        (b"#!/bin/sh\n", False),
        (b"", False),
        (b"\x7fELF\x01\x01".ljust(64, b"\0"), False),  # of 32 bits
    ],
)
def test_what_carries_cuda_code(content: bytes, carries: bool) -> None:
    assert carries_cuda_code(io.BytesIO(content)) is carries


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (LIBRARY[:5000], "it is cut off"),
        (LIBRARY[:40], "it is cut off"),
        (absurd(table=2**63), "it is cut off, or its headers are absurd"),
        (absurd(table=2**62), "it is cut off"),
        (absurd(table=0), "it has no table of sections, which may have been stripped"),
        (absurd(size=63), "its table of sections is absurd"),
        (absurd(names=200), "its table of sections is absurd"),
        (absurd(count=65_000), "it is cut off"),
        (windows_library(b".text", b".data")[:-1], "it is cut off"),
        (b"MZ", "it is cut off"),
    ],
)
def test_what_cannot_be_told_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        carries_cuda_code(io.BytesIO(content))


@pytest.mark.parametrize("name", [name for name in CARRIED if name != "add.cubin"])
def test_the_headers_say_what_cuobjdump_lists(name: str) -> None:
    """``CARRIED`` is held against cuobjdump itself in test_cuobjdump.py."""
    with (SAMPLES / name).open("rb") as file:
        found = read_fatbin(file, *fat_binary_of(file))
    assert found == counted(CARRIED[name].replace("sm_100 ", "sm_100f "))


@pytest.mark.parametrize(("name", "reason"), [("plain.so", "no section of fat"), ("add.cubin", "no section of fat")])
def test_a_file_without_fat_binaries_has_no_place_of_them(name: str, reason: str) -> None:
    with (SAMPLES / name).open("rb") as file, pytest.raises(ValueError, match=reason):
        fat_binary_of(file)


def fatbin(**fields: tuple[int, str, int]) -> bytes:
    content = bytearray((SAMPLES / "add.fatbin").read_bytes())
    for at, form, value in fields.values():
        struct.pack_into(form, content, at, value)
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (fatbin(version=(4, "<H", 2)), "a fat binary of an unknown form"),
        (fatbin(piece_version=(18, "<H", 0x0201)), "a piece of code of an unknown form"),
        (fatbin(header=(20, "<I", 8)), "a piece of code of an unknown form"),
        (fatbin(architecture=(44, "<I", 7)), "an architecture that is not known here"),
        (fatbin(architecture=(44, "<I", 99)), "an architecture that is not known here: there is no sm_99"),
        (fatbin(kind=(16, "<H", 8))[:-100], "it is cut off"),
        (fatbin(kind=(16, "<H", 8))[: 16 + 64 + 8], "it is cut off"),
        (b"\0" * 64, "it has neither machine code nor PTX"),
        (b"\0" * 10_000, "a fat binary of an unknown form"),
        (b"not a fat binary", "a fat binary of an unknown form"),
    ],
)
def test_headers_that_are_not_as_expected_are_refused(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_fatbin(io.BytesIO(content), 0, len(content))


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(["library.so", "relocatable.so", "add.fatbin", "add.cubin"]),
    length=st.integers(0, 16_000),
    changes=st.dictionaries(st.integers(0, 15_999), st.integers(0, 255), max_size=8),
)
def test_hostile_bytes_are_read_or_refused(name: str, length: int, changes: dict[int, int]) -> None:
    content = bytearray((SAMPLES / name).read_bytes()[:length])
    for at, value in changes.items():
        if at < len(content):
            content[at] = value
    for read in (carries_cuda_code, lambda file: read_fatbin(file, *fat_binary_of(file))):
        try:
            read(io.BytesIO(bytes(content)))
        except ValueError as error:
            assert str(error)  # noqa: PT017 - any other error fails the test


@settings(max_examples=100, deadline=None)
@given(changes=st.dictionaries(st.integers(0x28, 0x3F), st.integers(0, 255), min_size=1))
def test_hostile_headers_are_read_or_refused(changes: dict[int, int]) -> None:
    content = bytearray(LIBRARY)
    for at, value in changes.items():
        content[at] = value
    try:
        carries_cuda_code(io.BytesIO(bytes(content)))
    except ValueError as error:
        assert str(error)  # noqa: PT017
