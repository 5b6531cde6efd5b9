"""A verdict's findings that have a place in the code, as SARIF 2.1.0 (OASIS) for code scanning.

A result's fingerprint is made of its test, devices and cause: it stays when lines move.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.outcome import Outcome, Standing
from pytest_gpumatrix.render.repository_path import repository_line, repository_path, split_place
from pytest_gpumatrix.render.tame import bounded, ending, tame
from pytest_gpumatrix.triage.cause import Category
from pytest_gpumatrix.verdict.verdict import ChangeRow, StaleRow, Verdict

# GitHub takes 25,000 results in 10 MB (compressed) and shows the gravest 5,000 ("SARIF support for code scanning").
MOST_RESULTS = 5000
LARGEST = 9_500_000  # bytes, not compressed
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_FINGERPRINT = "gpumatrix/v1"
_LONGEST = 1000  # characters of a message
_LONGEST_NAME = 500
_UNEXPECTED_PASS, _STALE = "unexpected-pass", "stale-expectation"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What is wrong at a place. Its words are made when it is written: of very many only the gravest are."""

    rule: str  # the category of the cause, or one of the two above
    level: str  # error, warning or note
    place: Place  # inside the repository
    identity: tuple[str, ...]  # what makes it the same finding in another run
    message: Callable[[], str]
    properties: Callable[[], dict[str, Any]]


def render_sarif(verdict: Verdict) -> str:
    """The findings as a SARIF log, the red ones first; what would be too much is left out, and counted."""
    found = findings(verdict)
    rules = sorted({item.rule for item in found})
    results: list[dict[str, Any]] = []
    size = 0
    for item in found[:MOST_RESULTS]:
        result = _result(item, rules.index(item.rule))
        size += len(json.dumps(result))
        if size > LARGEST:
            break
        results.append(result)
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(rules, results, len(found) - len(results))]}
    return json.dumps(log) + "\n"


def findings(verdict: Verdict) -> list[Finding]:
    """Failures, unexpected passes and stale expectations whose place is known: the red ones, then the others."""
    found = [item for row in verdict.changes for item in _of_change(row)]
    found += [item for row in verdict.stale for item in _of_stale(row)]
    return sorted(found, key=lambda item: item.level != "error")


def _of_change(row: ChangeRow) -> Iterator[Finding]:
    """One for each place and cause; the devices that share them together."""
    groups: dict[tuple[str, int | None, str], list[str]] = {}
    for device, part in row.devices.items():
        cell = part.cell
        if cell is None or not (cell.standing is Standing.BAD or cell.outcome is Outcome.XPASSED) or not cell.place:
            continue
        path = repository_path(cell.place.file)
        if path is not None:
            groups.setdefault((path, repository_line(cell.place.line), _rule(cell)), []).append(device)
    for (path, line, rule), devices in groups.items():
        yield Finding(
            rule=rule,
            level="error" if row.red else "note" if rule == _UNEXPECTED_PASS else "warning",
            place=Place(file=path, line=line),
            identity=(row.test, rule, *sorted(devices)),
            message=partial(_message, row, devices),
            properties=partial(_properties, row, devices),
        )


def _rule(cell: Cell) -> str:
    if cell.outcome is Outcome.XPASSED:
        return _UNEXPECTED_PASS
    return cell.cause.category.value if cell.cause else Category.UNKNOWN.value


def _message(row: ChangeRow, devices: Sequence[str]) -> str:
    cell = row.devices[devices[0]].cell
    parts = [f"{row.change.value} ({row.scope}) on {', '.join(devices)}: {row.test}"]
    if cell and cell.message:
        parts.append(cell.message)
    if cell and cell.cause:
        parts.append(cell.cause.advice)
    return "\n".join(bounded(tame(part), _LONGEST) for part in parts)


def _properties(row: ChangeRow, devices: Sequence[str]) -> dict[str, Any]:
    cells = {device: row.devices[device].cell for device in devices}
    return {
        "test": ending(row.test, _LONGEST_NAME),
        "change": row.change.value,
        "scope": row.scope,
        "devices": list(devices),
        "evidence": {device: cell.evidence.value for device, cell in cells.items() if cell},
        "outcomes": {device: cell.outcome.value for device, cell in cells.items() if cell},
    }


def _of_stale(row: StaleRow) -> Iterator[Finding]:
    item = row.expectation
    file, line = split_place(item.place)
    path = repository_path(file)
    if path is not None:
        sentence = f"{item.test.text} on {item.devices.text}: {row.reason}"
        yield Finding(
            rule=_STALE,
            level="error" if row.red else "warning",
            place=Place(file=path, line=repository_line(line)),
            identity=(item.test.text, item.devices.text, row.reason),
            message=partial(bounded, tame(sentence), _LONGEST),
            properties=partial(dict, devices=item.devices.text),
        )


def _result(item: Finding, rule: int) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(item.place.file), "uriBaseId": "%SRCROOT%"}}
    if item.place.line is not None:
        location["region"] = {"startLine": item.place.line}
    digest = hashlib.sha256(json.dumps(item.identity).encode()).hexdigest()
    return {
        "ruleId": item.rule,
        "ruleIndex": rule,
        "level": item.level,
        "message": {"text": item.message()},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {_FINGERPRINT: digest},
        "properties": item.properties(),
    }


def _run(rules: Sequence[str], results: Sequence[dict[str, Any]], left_out: int) -> dict[str, Any]:
    invocation: dict[str, Any] = {"executionSuccessful": True}
    if left_out:
        text = f"{left_out:,} more findings are in the JSON report: these are as many as code scanning shows"
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    return {
        "tool": {
            "driver": {
                "name": "gpumatrix",
                "version": importlib.metadata.version("gpumatrix"),
                "rules": [
                    {"id": rule, "name": rule, "shortDescription": {"text": rule.replace("_", " ").replace("-", " ")}}
                    for rule in rules
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": list(results),
    }
