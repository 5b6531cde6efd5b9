"""XML from elsewhere, read as a stream; let in only if it is JUnit, whole, and declares no document type."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol
from xml.parsers import expat

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.record.atomic import LARGEST, open_file

_CHUNK = 1 << 16  # bytes
_LONGEST_TAG = 16 << 20  # bytes: the parser holds a whole tag with its attributes, or a comment, in memory
_LONGEST_PROLOG = 8192  # bytes to the end of the root's tag; a real one has some hundred
_ROOTS = ("testsuites", "testsuite")
_BEGINNINGS = (b"<?xml", b"<testsuite")
# What expat says of a document that ends too early.
_CUT_OFF = {
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
}
_PACKED = {  # how compressed files begin; none is ever inflated
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


class Listener(Protocol):
    """Who hears the elements of a document, in their order."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """It ends."""


def parse(path: Path, parser: expat.XMLParserType, listener: Listener) -> None:
    """Read a JUnit file through the parser, with little of it in memory at a time.

    CutOff if it ends too early, GpuMatrixError if it is something else. A document type is refused before anything of
    it is expanded: it is how entity bombs and external files come in, and JUnit has no use for it.
    """
    guard = _Guard(path, parser, listener)
    with open_file(path) as file:
        guard.read(file)


class _Guard:
    def __init__(self, path: Path, parser: expat.XMLParserType, listener: Listener) -> None:
        self._path, self._parser, self._listener = path, parser, listener
        self._beginning = b""
        self._root = ""
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._first

    def read(self, file: BinaryIO) -> None:
        try:
            for piece in self._pieces(file):
                self._parser.Parse(piece, False)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            self._explain(error)
        except (LookupError, ValueError) as error:  # of the encoding that it declares
            if self._root:
                raise
            raise GpuMatrixError(f"{self._path}: not XML that can be read: {error}") from error

    def _pieces(self, file: BinaryIO) -> Iterator[bytes]:
        """The file in pieces: byte by byte to the root, so that nothing behind a DOCTYPE is ever parsed."""
        first = self._read(file, _LONGEST_PROLOG)
        self._beginning = first[:100]
        for magic, name in _PACKED.items():
            if first.startswith(magic):
                raise GpuMatrixError(f"{self._path}: refused: it is a {name} file; unpack it")
        at = 0
        while not self._root and at < len(first):
            yield first[at : at + 1]
            at += 1
        if not self._root and len(first) == _LONGEST_PROLOG:
            raise GpuMatrixError(f"{self._path}: not JUnit: no root in its first {_LONGEST_PROLOG:,} bytes")
        yield first[at:]
        read = len(first)
        # A tag that is not whole yet is parsed again with each piece. Doubling the pieces keeps that linear.
        while piece := self._read(file, max(_CHUNK, self._pending(read))):
            read += len(piece)
            if read > LARGEST:  # it grew while it was read
                raise GpuMatrixError(f"{self._path}: refused: it has more than {LARGEST:,} bytes")
            yield piece

    def _read(self, file: BinaryIO, size: int) -> bytes:
        try:
            return file.read(size)
        except OSError as error:
            raise GpuMatrixError(f"{self._path}: cannot be read: {error.strerror or error}") from error

    def _pending(self, read: int) -> int:
        """How many bytes wait for the end of their tag."""
        pending = read - self._parser.CurrentByteIndex
        if pending > _LONGEST_TAG:
            raise GpuMatrixError(
                f"{self._path}:{self._parser.CurrentLineNumber}: refused: a tag (or a comment) "
                f"of more than {_LONGEST_TAG:,} bytes"
            )
        return pending

    def _first(self, name: str, attributes: dict[str, str]) -> None:
        """The root begins: is it JUnit's?"""
        if name not in _ROOTS:
            raise GpuMatrixError(f"{self._path}: not JUnit: its root is <{name[:80]}>, not <testsuites>")
        if "xmlns" in attributes:
            raise GpuMatrixError(f"{self._path}: not JUnit: elements in an XML namespace are not read")
        self._root = name
        self._parser.StartElementHandler = self._listener.start
        self._parser.EndElementHandler = self._listener.end
        self._listener.start(name, attributes)

    def _doctype(self, *_: object) -> None:
        raise GpuMatrixError(f"{self._path}: refused: it declares a DOCTYPE, which JUnit never needs")

    def _explain(self, error: expat.ExpatError) -> None:
        # As UTF-16 it has a byte order mark and zeros.
        beginning = self._beginning.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
        if error.code in _CUT_OFF and not beginning:
            raise CutOff(f"{self._path.name} is empty") from error
        if error.code in _CUT_OFF and (self._root or any(_begins(beginning, whole) for whole in _BEGINNINGS)):
            raise CutOff(f"{self._path.name} is cut off at line {error.lineno}") from error
        reason = expat.ErrorString(error.code)
        raise GpuMatrixError(f"{self._path}:{error.lineno}: not XML: {reason}") from error


def _begins(text: bytes, whole: bytes) -> bool:
    """Whether the text begins as the other, or is the beginning of it."""
    return text.startswith(whole) or whole.startswith(text)
