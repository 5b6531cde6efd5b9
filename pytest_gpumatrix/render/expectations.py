"""Proposed expectations as a part of gpumatrix.yml, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from pytest_gpumatrix.verdict.headline import counted
from pytest_gpumatrix.verdict.proposals import Proposal, Proposals

_MOST_LEFT_OUT = 20  # lines
_NO_BREAK = 1 << 30  # columns: a text stays on one line


def render_expectations_yaml(proposals: Proposals) -> str:
    """``expectations:`` with its entries. Every text from outside is quoted: in a comment it then stays on its line."""
    return "\n".join(_lines(proposals)) + "\n"


def render_expectations_json(proposals: Proposals) -> str:
    """The same as JSON, schema 1, ASCII only."""
    report = {
        "schema": 1,
        "expectations": [_entry(entry) for entry in proposals.entries],
        "left_out": [{"test": i.test, "device": i.device, "reason": i.reason} for i in proposals.left_out],
    }
    return json.dumps(report, indent=2) + "\n"


def _lines(proposals: Proposals) -> Iterator[str]:
    yield "# Proposed from results. Read each entry before you put it into gpumatrix.yml."
    yield "expectations:" if proposals.entries else "expectations: []  # nothing to propose"
    for entry in proposals.entries:
        yield f"  # {counted(entry.cells, 'cell')} of {counted(entry.tests, 'test')}"
        yield f"  - test: {_quoted(entry.test)}"
        yield f"    devices: {_devices(entry)}"
        yield f"    expect: {entry.expect.value}"
        if entry.cause:
            yield f"    cause: {entry.cause.value}"
        yield f"    reason: {_quoted(entry.reason)}"
        yield f"    until: {entry.until.isoformat()}"
    for item in proposals.left_out[:_MOST_LEFT_OUT]:
        yield f"# not proposed: {_quoted(item.test)} on {_quoted(item.device)}: {_quoted(item.reason)}"
    if len(proposals.left_out) > _MOST_LEFT_OUT:
        yield f"# ... and {len(proposals.left_out) - _MOST_LEFT_OUT:,} more cells: --format json has them"


def _entry(entry: Proposal) -> dict[str, Any]:
    return {
        "test": entry.test,
        "devices": list(entry.devices) if isinstance(entry.devices, tuple) else entry.devices,
        "expect": entry.expect.value,
        "cause": entry.cause.value if entry.cause else None,
        "reason": entry.reason,
        "until": entry.until.isoformat(),
        "tests": entry.tests,
        "cells": entry.cells,
    }


def _devices(entry: Proposal) -> str:
    if isinstance(entry.devices, str):
        return _quoted(entry.devices)
    return f"[{', '.join(map(_quoted, entry.devices))}]"


def _quoted(text: str) -> str:
    """A double-quoted YAML scalar, ASCII only."""
    return yaml.safe_dump(text, default_style='"', width=_NO_BREAK).rstrip("\n")
