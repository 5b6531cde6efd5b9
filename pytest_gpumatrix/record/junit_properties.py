"""What a session and a cell know beyond JUnit, as properties. Both ways; pure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.record.cell import Cell, Metric
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.triage.cause import Action, Category, Cause, Confidence

SCHEMA = 1
METRIC, SLOW = "gpumatrix_metric", "gpumatrix_slow"  # a case has several
REPEATED = frozenset({METRIC, SLOW})
_CAUSE = "gpumatrix_cause"
_CAUSE_TEXTS = ("advice", "rule", "evidence", "reason", "note")  # the fields of a cause that are text
OF_A_CASE = REPEATED | {
    "gpumatrix_nodeid",
    "gpumatrix_outcome",
    "gpumatrix_evidence",
    "gpumatrix_requirement",
    "gpumatrix_reruns",
    "gpumatrix_message",
    _CAUSE,
    f"{_CAUSE}_action",
    f"{_CAUSE}_confidence",
    *(f"{_CAUSE}_{name}" for name in _CAUSE_TEXTS),
}
_VERSION = "version_"
# Facts that are not text, each under a name of its own.
_NOT_TEXT = ("gpu_compute_capability", "dirty", "versions")
_FACTS = tuple(field.name for field in dataclasses.fields(SessionFacts) if field.name not in _NOT_TEXT)
_OF_A_SUITE = {"gpumatrix_schema", "gpumatrix_device", "gpumatrix_evidence", "gpu_compute_capability", "commit_dirty"}
_METRICS: msgspec.json.Decoder[Metric] = msgspec.json.Decoder(Metric)


def of_a_suite(name: str) -> bool:
    """Whether a suite's property of this name says something here."""
    return name in _OF_A_SUITE or name in _FACTS or name.startswith(_VERSION)


def suite_properties(column: Column) -> Mapping[str, str]:
    """The properties of a column's suite."""
    facts = column.facts
    known: dict[str, Any] = {
        "gpumatrix_schema": SCHEMA,
        "gpumatrix_device": column.device,
        "gpumatrix_evidence": column.evidence.value,
        **{name: getattr(facts, name) for name in _FACTS},
        "gpu_compute_capability": facts.gpu_compute_capability,
        "commit_dirty": None if facts.dirty is None else str(facts.dirty).lower(),
        **{_VERSION + name: version for name, version in facts.versions.items()},
    }
    return {name: str(value) for name, value in known.items() if value is not None}


def facts_of(properties: Mapping[str, str]) -> SessionFacts:
    """The facts in a suite's properties. ValueError for a capability that is none."""
    capability = properties.get("gpu_compute_capability")
    dirty = properties.get("commit_dirty")
    return SessionFacts(
        **{name: properties.get(name) for name in _FACTS},
        gpu_compute_capability=ComputeCapability.parse(capability) if capability else None,
        dirty={"true": True, "false": False}.get(dirty or ""),  # any other word is not known to be clean
        versions={
            name.removeprefix(_VERSION): value for name, value in properties.items() if name.startswith(_VERSION)
        },
    )


def case_properties(cell: Cell) -> Iterable[tuple[str, str]]:
    """The properties of a case, but for what its column's suite says. ValueError for a metric that is no number."""
    yield "gpumatrix_nodeid", cell.test
    yield "gpumatrix_outcome", cell.outcome.value
    yield "gpumatrix_evidence", cell.evidence.value
    if cell.requirement is not None:
        yield "gpumatrix_requirement", cell.requirement
    if cell.reruns:
        yield "gpumatrix_reruns", str(cell.reruns)
    if (cause := cell.cause) is not None:
        yield _CAUSE, cause.category.value
        yield f"{_CAUSE}_action", cause.action.value
        yield f"{_CAUSE}_confidence", cause.confidence.value
        for name in _CAUSE_TEXTS:
            if text := getattr(cause, name):
                yield f"{_CAUSE}_{name}", text
    for metric in cell.metrics:
        if not math.isfinite(metric.value):
            raise ValueError(f"{cell.test}: metric {metric.name!r} is {metric.value}, and no number that JSON has")
        yield METRIC, msgspec.json.encode(metric).decode()
    for sentence in cell.slow:
        yield SLOW, sentence


def cause_of(properties: Mapping[str, str]) -> Cause | None:
    """The cause in a case's properties, or None: there is none, or it is not one that this version knows."""
    if _CAUSE not in properties:
        return None
    try:
        return Cause(
            category=Category(properties[_CAUSE]),
            action=Action(properties.get(f"{_CAUSE}_action", "")),
            confidence=Confidence(properties.get(f"{_CAUSE}_confidence", Confidence.HIGH)),
            **{name: properties.get(f"{_CAUSE}_{name}", "") for name in _CAUSE_TEXTS},
        )
    except ValueError:
        return None


def metric_of(text: str) -> Metric:
    """A metric's property. ValueError if it is none."""
    try:
        metric = _METRICS.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not math.isfinite(metric.value) or metric.better not in ("lower", "higher"):
        raise ValueError("its value must be a number, and better is lower or higher")
    return metric
