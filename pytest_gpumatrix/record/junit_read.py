"""JUnit XML of this project or of any other pytest -> a column."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from junitparser import Error, Failure, Skipped, xunit2
from junitparser.junitparser import JUnitXml, JUnitXmlError

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.record.cell import Cell, Metric
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.junit_write import FACTS, STRICT_XPASS
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing, standing
from pytest_gpumatrix.record.xml_guard import read_guarded
from pytest_gpumatrix.triage.cause import Action, Category, Cause

_OUTCOMES = {item.value: item for item in Outcome}


def read_junit(path: Path, *, device: str, evidence: Evidence) -> Column:
    """Read a column. CutOff if the file ends too early; GpuMatrixError if it is refused."""
    try:
        root = xunit2.JUnitXml.fromstring(read_guarded(path))
    except JUnitXmlError as error:
        raise GpuMatrixError(f"{path}: not JUnit: {error} (elements in an XML namespace are not read)") from error
    suites: list[Any] = list(root) if isinstance(root, JUnitXml) else [root]
    for suite in suites:
        _refuse_what_is_left_out(suite, path)
    properties: dict[str, str] = {}
    cells: dict[str, Cell] = {}
    for suite in _flat(suites):
        properties |= {str(item.name): str(item.value) for item in suite.properties()}
        for case in suite:
            cell = _cell(case, evidence)
            known = cells.get(cell.test)
            cells[cell.test] = cell if known is None else worse(known, cell)
    for name, wanted in (("gpumatrix_device", device), ("gpumatrix_evidence", evidence.value)):
        if properties.get(name, wanted) != wanted:
            raise GpuMatrixError(
                f"{path}: its name says {wanted}, its property {name} says {properties[name]}; "
                "give the file back the name it was written under"
            )
    return Column(device=device, evidence=evidence, cells=cells, facts=_facts(properties, path), source=str(path))


def _refuse_what_is_left_out(suite: Any, path: Path) -> None:
    """A suite that declares more failures and errors than it holds is not whole."""
    declared = (suite.failures or 0) + (suite.errors or 0)
    results = (result for part in _flat([suite]) for case in part for result in case.result)
    found = sum(isinstance(result, Error | Failure) for result in results)
    if declared > found:
        raise CutOff(f"{path.name} declares {declared} failures and errors, and holds {found}")


def worse(one: Cell, other: Cell) -> Cell:
    """Of two cells of the same test, the one that may not be lost."""
    return max(one, other, key=lambda cell: cell.standing.weight)


def _facts(properties: Mapping[str, str], path: Path) -> SessionFacts:
    capability = properties.get("gpu_compute_capability")
    try:
        parsed = ComputeCapability.parse(capability) if capability else None
    except ValueError as error:
        raise GpuMatrixError(f"{path}: property gpu_compute_capability: {error}") from error
    dirty = properties.get("commit_dirty")
    return SessionFacts(
        **{name: properties.get(name) for name in FACTS},
        gpu_compute_capability=parsed,
        dirty=None if dirty is None else dirty == "true",
        versions={
            name.removeprefix("version_"): value for name, value in properties.items() if name.startswith("version_")
        },
    )


def _cell(case: Any, evidence: Evidence) -> Cell:
    properties = {str(item.name): str(item.value) for item in case.properties()}
    outcome, strict, message, details = _read_result(case)
    recorded = _OUTCOMES.get(properties.get("gpumatrix_outcome", ""), outcome)
    # A property may say more than the result does, but not turn a failure into anything better.
    harmless = standing(recorded, strict=strict) in (Standing.GOOD, Standing.NEUTRAL)
    if not (harmless and standing(outcome, strict=strict) is Standing.BAD):
        outcome = recorded
        message = message.removeprefix(f"{recorded.value}: ")
    return Cell(
        test=properties.get("gpumatrix_nodeid") or node_id(case.classname, case.name, case._elem.get("file")),
        outcome=outcome,
        evidence=evidence,
        strict=strict,
        reruns=_whole(properties.get("gpumatrix_reruns")) or len(case.interim_result),
        message=message or properties.get("gpumatrix_message", ""),  # a pass has no other place for it
        details=details,
        cause=_cause(properties),
        requirement=properties.get("gpumatrix_requirement"),
        duration=_seconds(case._elem.get("time")),
        metrics=tuple(_metrics(case)),
        slow=tuple(str(item.value) for item in case.properties() if item.name == "gpumatrix_slow"),
    )


def _read_result(case: Any) -> tuple[Outcome, bool, str, str]:
    """The outcome, whether an unexpected pass was strict, the message and the details of a plain JUnit case."""
    results = {type(result): result for result in reversed(case.result)}
    for kind, outcome in ((Error, Outcome.ERROR), (Failure, Outcome.FAILED), (Skipped, Outcome.SKIPPED)):
        result = results.get(kind)
        if result is None:
            continue
        message, details = str(result.message or ""), str(result.text or "")
        if outcome is Outcome.FAILED and (message or details).startswith(STRICT_XPASS):
            return Outcome.XPASSED, True, message, details
        if outcome is Outcome.SKIPPED and result.type == "pytest.xfail":
            return Outcome.XFAILED, False, message, details
        return outcome, False, message, details
    return Outcome.PASSED, False, "", ""


def _cause(properties: Mapping[str, str]) -> Cause | None:
    category, action = properties.get("gpumatrix_cause"), properties.get("gpumatrix_cause_action")
    if category not in {item.value for item in Category} or action not in {item.value for item in Action}:
        return None
    return Cause(
        category=Category(category),
        evidence=properties.get("gpumatrix_cause_evidence", ""),
        action=Action(action),
        advice=properties.get("gpumatrix_cause_advice", ""),
        rule=properties.get("gpumatrix_cause_rule", ""),
    )


def _metrics(case: Any) -> Iterable[Metric]:
    for item in case.properties():
        if item.name != "gpumatrix_metric":
            continue
        try:
            fields = json.loads(item.value)
            yield Metric(
                name=str(fields["name"]),
                value=float(fields["value"]),
                unit=str(fields["unit"]),
                better=str(fields["better"]),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise GpuMatrixError(f"test {case.name!r}: property gpumatrix_metric cannot be read: {error}") from error


def node_id(classname: str | None, name: str | None, file: str | None) -> str:
    """Pytest's node id of a plain JUnit case: from its file if told, else with classes told by their capital letter."""
    dotted = (classname or "").split(".") if classname else []
    if file:
        module = file.removesuffix(".py").replace("\\", "/").split("/")
        classes = dotted[len(module) :] if dotted[: len(module)] == module else []
        return "::".join([file, *classes, name or ""])
    classes = []
    while len(dotted) > 1 and dotted[-1][:1].isupper():
        classes.insert(0, dotted.pop())
    path = "/".join(dotted) + ".py" if dotted else ""
    return "::".join(part for part in (path, *classes, name or "") if part)


def _flat(suites: Iterable[Any]) -> Iterable[Any]:
    for suite in suites:
        yield suite
        yield from _flat(suite.testsuites())


def _seconds(text: str | None) -> float:
    try:
        value = float((text or "0").replace(",", ""))
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
