"""A column as JUnit XML with properties, for any tool to read: what crosses machines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from junitparser import Error, Failure, Skipped, xunit2

from pytest_gpumatrix.record.atomic import write_atomically
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.outcome import Outcome

FACTS = ("gpu_name", "gpu_uuid", "driver_version", "commit")  # of the session, kept as they are
STRICT_XPASS = "[XPASS(strict)]"  # how pytest begins the failure of a strict unexpected pass
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(column: Column, path: Path) -> None:
    """Write a column; the file appears whole or not at all."""
    suite = xunit2.TestSuite("gpumatrix")
    for name, value in _suite_properties(column).items():
        suite.add_property(name, _xml_text(value))
    suite.add_testcases([_case(cell, column) for cell in column.cells.values()])
    document = xunit2.JUnitXml("gpumatrix")
    document.add_testsuite(suite)
    write_atomically(path, document.tostring())


def _suite_properties(column: Column) -> Mapping[str, str]:
    facts = column.facts
    known: dict[str, Any] = {
        "gpumatrix_schema": 1,
        "gpumatrix_device": column.device,
        "gpumatrix_evidence": column.evidence.value,
        **{name: getattr(facts, name) for name in FACTS},
        "gpu_compute_capability": facts.gpu_compute_capability,
        "commit_dirty": None if facts.dirty is None else str(facts.dirty).lower(),
        **{f"version_{name}": version for name, version in facts.versions.items()},
    }
    return {name: str(value) for name, value in known.items() if value is not None}


def _case(cell: Cell, column: Column) -> xunit2.TestCase:
    file, _, inner = cell.test.partition("::")
    parents, name = _split(inner or file)
    dotted = file.removesuffix(".py").replace("/", ".") if inner else ""
    classname = ".".join(part for part in (dotted, *parents) if part)
    case = xunit2.TestCase(_xml_text(name), _xml_text(classname), cell.duration)
    for key, value in _case_properties(cell, column):
        case.add_property(key, _xml_text(value))
    if (result := _result(cell)) is not None:
        case.result = [result]
    return case


def _case_properties(cell: Cell, column: Column) -> Iterable[tuple[str, str]]:
    facts = column.facts
    known: dict[str, Any] = {
        "gpumatrix_nodeid": cell.test,
        "gpumatrix_device": column.device,
        "gpumatrix_outcome": cell.outcome.value,
        "gpumatrix_evidence": cell.evidence.value,
        "gpumatrix_requirement": cell.requirement,
        "gpumatrix_reruns": cell.reruns or None,
        "gpumatrix_message": cell.message if cell.message and _result(cell) is None else None,
        "gpu_name": facts.gpu_name,
        "gpu_compute_capability": facts.gpu_compute_capability,
        "driver_version": facts.driver_version,
    }
    if cell.cause is not None:
        known |= {
            "gpumatrix_cause": cell.cause.category.value,
            "gpumatrix_cause_evidence": cell.cause.evidence,
            "gpumatrix_cause_action": cell.cause.action.value,
            "gpumatrix_cause_advice": cell.cause.advice,
            "gpumatrix_cause_rule": cell.cause.rule,
        }
    yield from ((name, str(value)) for name, value in known.items() if value is not None)
    for metric in cell.metrics:
        fields = {"name": metric.name, "value": metric.value, "unit": metric.unit, "better": metric.better}
        yield "gpumatrix_metric", json.dumps(fields, allow_nan=False)
    yield from (("gpumatrix_slow", sentence) for sentence in cell.slow)


def _result(cell: Cell) -> Failure | Error | Skipped | None:
    message = cell.message
    match cell.outcome:
        case Outcome.PASSED:
            return None
        case Outcome.XPASSED if not cell.strict:
            return None
        case Outcome.XPASSED:
            result: Any = Failure(_xml_text(f"{STRICT_XPASS} {message.removeprefix(STRICT_XPASS).strip()}"))
        case Outcome.FAILED:
            result = Failure(_xml_text(message))
        case Outcome.ERROR | Outcome.CRASHED | Outcome.TIMEOUT | Outcome.UNKNOWN:
            result = Error(_xml_text(f"{cell.outcome.value}: {message}"))
        case _:
            result = Skipped(_xml_text(message or cell.outcome.value), "pytest." + _skip_type(cell.outcome))
    if cell.details:
        result.text = _xml_text(cell.details)
    return result  # type: ignore[no-any-return]  # junitparser is untyped


def _skip_type(outcome: Outcome) -> str:
    return {Outcome.XFAILED: "xfail", Outcome.SKIPPED: "skip"}.get(outcome, outcome.value)


def _split(inner: str) -> tuple[list[str], str]:
    """Classes and name of a node id's inner part; a parameter may hold "::" itself."""
    before, bracket, parameters = inner.partition("[")
    *parents, name = before.split("::")
    return parents, name + bracket + parameters


def _xml_text(text: str) -> str:
    """Text with the characters that XML 1.0 cannot hold written as escapes."""
    return _NOT_XML.sub(lambda match: f"\\x{ord(match.group()):02x}", text)
