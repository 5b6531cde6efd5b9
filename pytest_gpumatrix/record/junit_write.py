"""A column as JUnit XML with properties, for any tool to read: what crosses machines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from junitparser import Attr, Error, Failure, IntAttr, Skipped, xunit2

from pytest_gpumatrix.record.atomic import write_atomically
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.junit_properties import case_properties, suite_properties
from pytest_gpumatrix.record.junit_result import own_message, result_of

_ELEMENTS: dict[str, Any] = {"failure": Failure, "error": Error, "skipped": Skipped}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _TestCase(xunit2.TestCase):
    """A case with its place, as xunit1 writes it and as readers of JUnit annotate."""

    file = Attr()
    line = IntAttr()


def write_junit(column: Column, path: Path) -> None:
    """Write a column; the file appears whole or not at all."""
    suite = xunit2.TestSuite("gpumatrix")
    for name, value in suite_properties(column).items():
        suite.add_property(name, _xml_text(value))
    suite.add_testcases([_case(cell) for cell in column.cells.values()])
    document = xunit2.JUnitXml("gpumatrix")
    document.add_testsuite(suite)
    write_atomically(path, document.tostring())


def _case(cell: Cell) -> _TestCase:
    file, _, inner = cell.test.partition("::")
    parents, name = _split(inner or file)
    dotted = file.removesuffix(".py").replace("/", ".") if inner else ""
    classname = ".".join(part for part in (dotted, *parents) if part)
    case = _TestCase(_xml_text(name), _xml_text(classname), cell.duration)
    if cell.place is not None:
        case.file = _xml_text(cell.place.file)
        if cell.place.line is not None:
            case.line = cell.place.line
    for key, value in case_properties(cell):
        case.add_property(key, _xml_text(value))
    told = result_of(cell)
    if told is not None:
        result = _ELEMENTS[told.element](_xml_text(told.message), told.type)
        if told.text.strip():
            result.text = _xml_text(told.text)
        case.result = [result]
    # A pass has no other place for it, and an element's message may have to say the outcome first.
    if cell.message != ("" if told is None else own_message(cell.outcome, told.message)):
        case.add_property("gpumatrix_message", _xml_text(cell.message))
    return case


def _split(inner: str) -> tuple[list[str], str]:
    """Classes and name of a node id's inner part; a parameter may hold "::" itself."""
    before, bracket, parameters = inner.partition("[")
    *parents, name = before.split("::")
    return parents, name + bracket + parameters


def _xml_text(text: str) -> str:
    """Text with the characters that XML 1.0 cannot hold written as escapes."""
    return _NOT_XML.sub(lambda match: f"\\x{ord(match.group()):02x}", text)
