"""XML from elsewhere, let in only if it is JUnit, whole, and declares no document type."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.record.atomic import read_file

_DEEPEST = 100  # JUnit needs five; a reader recurses
_ROOTS = ("testsuites", "testsuite")
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


def read_guarded(path: Path) -> bytes:
    """The bytes of a JUnit file. CutOff if it ends too early, GpuMatrixError if it is something else.

    A document type is refused before anything of it is expanded: it is how entity bombs and external
    files come in, and JUnit has no use for it.
    """
    content = read_file(path)
    depth = 0
    root: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:  # noqa: ARG001 - expat's callback
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise GpuMatrixError(f"{path}: not JUnit: its elements are nested more than {_DEEPEST} deep")
        if not root:
            root.append(name)
            if name not in _ROOTS:
                raise GpuMatrixError(f"{path}: not JUnit: its root is <{name[:80]}>, not <testsuites>")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def doctype(*_: object) -> None:
        raise GpuMatrixError(f"{path}: refused: it declares a DOCTYPE, which JUnit never needs")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        begins_well = bool(root) or content.lstrip().startswith((b"<?xml", b"<testsuite"))
        if not content.strip() or (begins_well and error.code in _CUT_OFF):
            state = f"cut off at line {error.lineno}" if content.strip() else "empty"
            raise CutOff(f"{path.name} is {state}") from error
        raise GpuMatrixError(f"{path}:{error.lineno}: not XML: {expat.ErrorString(error.code)}") from error
    except (LookupError, ValueError) as error:
        raise GpuMatrixError(f"{path}: not XML that can be read: {error}") from error
    return content
