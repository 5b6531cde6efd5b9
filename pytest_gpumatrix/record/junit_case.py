"""One ``<testcase>`` -> a cell. Pure, but for what it remembers of a file's texts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from sys import intern

from pytest_gpumatrix.record.bounded_text import TextBudget
from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.junit_cause import Triage
from pytest_gpumatrix.record.junit_properties import METRIC, SLOW, cause_of, metric_of
from pytest_gpumatrix.record.junit_result import PASSED, Result, Told, own_message, recorded_outcome, told_by
from pytest_gpumatrix.record.node_id import LONGEST_ID, PYTEST, bounded_id, node_id
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing, standing
from pytest_gpumatrix.triage.cause import Cause

_OUTCOMES = {item.value: item for item in Outcome}
_EVIDENCE = {item.value: item for item in Evidence}
_LONGEST_PATH = 4096  # characters
_DRIVE = re.compile("[A-Za-z]:")
_MOST_DIGITS = 15  # of a whole number that is taken at its word


class Case:
    """What a case's elements hold, gathered while they are read."""

    __slots__ = ("attempts", "attributes", "properties", "repeated", "results", "system_err", "system_out")

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.attributes = attributes
        self.properties: dict[str, str] = {}
        self.repeated: list[tuple[str, str]] = []  # the properties that a case has several of
        self.results: list[Result] = []
        self.attempts = 0  # that failed before the one that counts
        self.system_out = self.system_err = ""


class CaseReader:
    """Makes the cells of one file."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence, self._evidence_text = evidence, evidence.value  # of the column: no cell of it has a better one
        self._texts, self._triage = TextBudget(), Triage()

    def cell(self, case: Case, suite: str) -> Cell:
        """The cell of a case in a suite of this name. ValueError for a property that cannot be read."""
        attributes, properties = case.attributes, case.properties
        spoken = case.results or "status" in attributes or "result" in attributes
        told = told_by(case.results, attributes) if spoken else PASSED
        test, recorded = properties.get("gpumatrix_nodeid"), properties.get("gpumatrix_outcome")
        evidence, requirement = properties.get("gpumatrix_evidence"), properties.get("gpumatrix_requirement")
        message = properties.get("gpumatrix_message")
        place = _place(attributes, suite) if "file" in attributes else None
        outcome, strict, details, cause = told.outcome, False, "", None
        if told is not PASSED or recorded not in (None, "passed"):  # most cases are spared this
            outcome = recorded_outcome(told, _OUTCOMES.get(recorded or ""))
            strict = told.strict and outcome is Outcome.XPASSED
            bad = standing(outcome, strict=strict) is Standing.BAD
            if message is None:
                message = told.message if recorded is None else own_message(outcome, told.message)
            details = self._details(case, told, bad=bad)
            cause = self._cause(case, told, bad=bad)
            if recorded is None:
                message, place = message or _telling_line(told, details), place if bad else None
        elif recorded is None:
            place = None
        return Cell(
            test=intern(test if test and len(test) <= LONGEST_ID else _test(case, suite)),
            outcome=outcome,
            evidence=self._evidence if evidence in (None, self._evidence_text) else self._weaker(evidence),
            strict=strict,
            reruns=whole(properties["gpumatrix_reruns"]) if "gpumatrix_reruns" in properties else case.attempts,
            message=intern(message) if message else "",
            details=details,
            cause=cause,
            requirement=intern(requirement) if requirement else requirement,
            duration=_seconds(attributes.get("time")),
            metrics=tuple(_metric(text) for name, text in case.repeated if name == METRIC) if case.repeated else (),
            place=place,
            slow=tuple(text for name, text in case.repeated if name == SLOW) if case.repeated else (),
        )

    def _weaker(self, claimed: str) -> Evidence:
        evidence = _EVIDENCE.get(claimed, self._evidence)
        return evidence if evidence.strength < self._evidence.strength else self._evidence

    def _details(self, case: Case, told: Told, *, bad: bool) -> str:
        if told.details:
            return self._texts.of(told.details)
        # CTest's failures say nothing, and all is in the output.
        return self._texts.of(case.system_out) if bad and not told.message else ""

    def _cause(self, case: Case, told: Told, *, bad: bool) -> Cause | None:
        recorded = cause_of(case.properties)
        if recorded is not None or not bad or told.outcome is Outcome.XPASSED:
            return recorded
        output = case.system_err if told.message or told.details else f"{case.system_out}\n{case.system_err}"
        return self._triage.cause(message=told.message, details=told.details, output=output, kind=told.type)


def whole(text: str | None) -> int:
    """A count in an attribute; 0 for what is none."""
    if not text or not text.isdecimal():
        return 0
    return int(text) if len(text) <= _MOST_DIGITS else 10**_MOST_DIGITS


def _test(case: Case, suite: str) -> str:
    test = case.properties.get("gpumatrix_nodeid")
    if not test:
        attributes = case.attributes
        test = node_id(attributes.get("classname"), attributes.get("name"), attributes.get("file"), suite)
    return bounded_id(test or suite or "(no name)")


def _telling_line(told: Told, details: str) -> str:
    """Where a tool gives no message: the first line of the failure's text, or the last of the output."""
    lines = [line for line in details.splitlines() if line.strip()]
    return lines[0 if told.details else -1].strip() if lines else ""


def _metric(text: str) -> Metric:
    try:
        return metric_of(text)
    except ValueError as error:
        raise ValueError(f"property {METRIC} cannot be read: {error}") from error


def _place(attributes: Mapping[str, str], suite: str) -> Place | None:
    """Where the test is, if that is a place inside the repository."""
    file = attributes.get("file", "")
    parts = file.split("/")
    outside = "" in parts or "." in parts or ".." in parts or "\\" in file or _DRIVE.match(file)
    if outside or not file.isprintable() or len(file) > _LONGEST_PATH:
        return None
    line = whole(attributes.get("line"))
    if suite == PYTEST and "line" in attributes:  # which counts lines from 0
        line += 1
    return Place(file=file, line=line or None)


def _seconds(text: str | None) -> float:
    try:
        value = float(text.replace(",", "")) if text else 0.0
    except ValueError:
        return 0.0
    return value if 0.0 <= value < math.inf else 0.0
