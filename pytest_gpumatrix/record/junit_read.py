"""JUnit XML of this project or of any other tool -> a column, read as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.record.bounded_text import LONGEST, GrowingText, bounded
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.junit_case import Case, CaseReader, whole
from pytest_gpumatrix.record.junit_properties import OF_A_CASE, REPEATED, SCHEMA, facts_of, of_a_suite
from pytest_gpumatrix.record.junit_result import Result
from pytest_gpumatrix.record.node_id import PYTEST
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.record.repeated import Repeated, attempts, worst
from pytest_gpumatrix.record.xml_guard import parse

_DEEPEST = 100  # elements; JUnit needs five
_MOST = 2_000_000  # cases and properties that are kept of one file
_ONCE = OF_A_CASE - REPEATED
_RESULTS = frozenset({"failure", "error", "skipped"})
_BAD = frozenset({"failure", "error"})
# Attempts before the one that counts, as Maven Surefire writes them.
_ATTEMPTS = frozenset({"rerunFailure", "rerunError", "flakyFailure", "flakyError"})
_SUITES = frozenset({"testsuite", "testsuites"})
_PYTESTS_ROOT = "pytest tests"
_TELLING = _RESULTS | _SUITES | {"testcase"}
_WITH_TEXT = _RESULTS | _ATTEMPTS | {"system-out", "system-err"}


@dataclass(frozen=True, kw_only=True, slots=True)
class JunitFile:
    """What a file holds."""

    column: Column
    repeated: Mapping[str, tuple[Cell, ...]]  # a test's cells, where it has several that differ in outcome


def read_junit(path: Path, *, device: str, evidence: Evidence) -> Column:
    """Read a column. CutOff if the file ends too early; GpuMatrixError if it is refused."""
    return read_junit_file(path, device=device, evidence=evidence).column


def read_junit_file(path: Path, *, device: str, evidence: Evidence) -> JunitFile:
    """As ``read_junit``, with the cells that lost against another of the same test in the same file."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    reader = _Reader(path, parser, evidence)
    parse(path, parser, reader)
    properties = reader.properties
    for name, wanted in (("gpumatrix_device", device), ("gpumatrix_evidence", evidence.value)):
        if properties.get(name, wanted) != wanted:
            raise GpuMatrixError(
                f"{path}: its name says {wanted}, its property {name} says {properties[name]}; "
                "give the file back the name it was written under"
            )
    if (schema := whole(properties.get("gpumatrix_schema"))) > SCHEMA:
        raise GpuMatrixError(f"{path}: schema {schema} is not known here; read it with a newer gpumatrix")
    try:
        facts = facts_of(properties)
    except ValueError as error:
        raise GpuMatrixError(f"{path}: property gpu_compute_capability: {error}") from error
    column = Column(device=device, evidence=evidence, cells=reader.cells, facts=facts, source=str(path))
    return JunitFile(column=column, repeated=reader.repeated.several())


@dataclass(slots=True)
class _Suite:
    """A suite that is being read."""

    name: str
    declared: int  # failures and errors
    found: int = 0
    cells: dict[str, Cell] = field(default_factory=dict)  # of pytest's, which writes a case for each attempt


class _Reader:
    """Gathers each case's elements, and makes its cell when it ends."""

    def __init__(self, path: Path, parser: expat.XMLParserType, evidence: Evidence) -> None:
        self.cells: dict[str, Cell] = {}
        self.properties: dict[str, str] = {}  # of all suites
        self.repeated = Repeated()
        self._path, self._parser, self._cases = path, parser, CaseReader(evidence)
        self._suites: list[_Suite] = []
        self._case: Case | None = None
        self._text: GrowingText | None = None
        self._text_of: tuple[int, str, Mapping[str, str]] = (0, "", {})  # depth, name, attributes
        self._depth = self._kept = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self._depth += 1
        if name == "property":
            name, value = attributes.get("name", ""), attributes.get("value", "")
            if self._case is not None and name in _ONCE and len(value) <= LONGEST:
                self._case.properties[name] = value
            else:
                self._property(name, value)
        elif name == "testcase":
            if self._case is not None:
                raise self._refused("not JUnit: a testcase in a testcase")
            self._case = Case(attributes)
        elif name == "properties":
            pass
        elif name in _WITH_TEXT:
            self._begin_text(name, attributes)
        elif name in _SUITES:
            self._begin_suite(attributes)
        elif ":" in name and name.rpartition(":")[2] in _TELLING:
            raise self._refused(f"not JUnit: <{name[:80]}> is in an XML namespace, and would not be read")
        if self._depth > _DEEPEST:
            raise self._refused(f"not JUnit: its elements are nested more than {_DEEPEST} deep")

    def end(self, name: str) -> None:
        """An element ends."""
        if name == "property":
            pass  # but for its depth: most elements are properties, and nothing else is asked of them
        elif name == "testcase":
            case, self._case = self._case, None
            if case is not None:
                self._keep(case)
        elif self._text is not None and self._depth == self._text_of[0]:
            self._end_text(str(self._text))
        elif name in _SUITES:
            self._end_suite()
        self._depth -= 1

    def _property(self, name: str, value: str) -> None:
        """One of a suite, one that a case has several of, or a long one."""
        if self._case is None:
            if of_a_suite(name):
                self._count()
                self.properties[name] = bounded(value)
        elif name in REPEATED:
            self._count()
            self._case.repeated.append((name, bounded(value)))
        elif name in _ONCE:
            self._case.properties[name] = value if name == "gpumatrix_nodeid" else bounded(value)

    def _begin_text(self, name: str, attributes: Mapping[str, str]) -> None:
        if name in _BAD:
            self._suites[-1].found += 1
        if self._text is not None:  # inside another, which is no JUnit; but what is bad counts
            if name in _BAD:
                self._result(name, attributes, "")
            return
        self._text, self._text_of = GrowingText(), (self._depth, name, attributes)
        if name not in _ATTEMPTS:
            self._parser.CharacterDataHandler = self._text.add

    def _end_text(self, text: str) -> None:
        _, name, attributes = self._text_of
        self._text, self._parser.CharacterDataHandler = None, None
        if name in _RESULTS:
            self._result(name, attributes, text)
        elif self._case is None:
            return
        elif name in _ATTEMPTS:
            self._case.attempts += 1
        elif name == "system-out":
            self._case.system_out = self._case.system_out or text
        else:
            self._case.system_err = self._case.system_err or text

    def _result(self, name: str, attributes: Mapping[str, str], text: str) -> None:
        self._count()
        message, kind = attributes.get("message", ""), attributes.get("type", "")
        result = Result(element=name, message=bounded(message), type=kind, text=text)
        if self._case is not None:
            self._case.results.append(result)
        elif name in _BAD:  # of the suite itself
            case = Case({})
            case.results.append(result)
            self._keep(case)

    def _keep(self, case: Case) -> None:
        suite = self._suites[-1]
        try:
            cell = self._cases.cell(case, suite.name)
        except ValueError as error:
            raise self._refused(f"test {case.attributes.get('name', '')!r}: {error}") from error
        own = suite.cells.get(cell.test)
        if suite.name == PYTEST:
            cell = suite.cells[cell.test] = cell if own is None else attempts(own, cell)
        known = self.cells.get(cell.test)
        if known is None:
            if len(self.cells) >= _MOST:
                raise self._refused(f"refused: it holds more than {_MOST:,} tests")
            self.cells[cell.test] = cell
        elif known is own:
            self.cells[cell.test] = cell
        else:  # another run's, in a file that was merged of several
            self.repeated.add(known, cell)
            self.cells[cell.test] = worst((known, cell))

    def _begin_suite(self, attributes: Mapping[str, str]) -> None:
        name = attributes.get("name", "")
        if self._suites and self._suites[0].name == _PYTESTS_ROOT:  # its suite may be called by another name
            name = PYTEST
        declared = whole(attributes.get("failures")) + whole(attributes.get("errors"))
        self._suites.append(_Suite(name=name, declared=declared))

    def _end_suite(self) -> None:
        """A suite that declares more failures and errors than it holds is not whole."""
        suite = self._suites.pop()
        if suite.declared > suite.found:
            declared = f"declares {suite.declared:,} failures and errors, and holds {suite.found:,}"
            raise CutOff(f"{self._path.name} {declared}")
        if self._suites:
            self._suites[-1].found += suite.found

    def _count(self) -> None:
        self._kept += 1
        if self._kept > _MOST:
            raise self._refused(f"refused: it holds more than {_MOST:,} results and properties")

    def _refused(self, why: str) -> GpuMatrixError:
        return GpuMatrixError(f"{self._path}: {why}")
