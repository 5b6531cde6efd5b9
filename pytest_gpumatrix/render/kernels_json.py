"""The kernels of tapes on devices as JSON, schema 1, in pieces: there may be any number of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pytest_gpumatrix.portability.judging.figures import Figures
from pytest_gpumatrix.portability.judging.kernel_rows import KernelRow
from pytest_gpumatrix.portability.judging.plan import Judged
from pytest_gpumatrix.portability.judging.tapes import Findings

SCHEMA = 1


def render_kernels_json(findings: Findings, compilers: Mapping[str, str]) -> Iterator[str]:
    """The pieces of the text, ASCII only; a line for each kernel."""
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "tapes": [
            {
                "path": str(tape.path),
                "recorded_on": str(tape.capability) if tape.capability is not None else None,
                "versions": dict(tape.versions),
                "cut_off": tape.cut_off,
            }
            for tape in findings.tapes
        ],
        "compilers": dict(compilers),
        "devices": {
            name: {"capability": str(profile.capability), "profile": profile.id}
            for name, profile in findings.devices.items()
        },
        "exit_code": findings.exit_code,
        "problems": [{"test": problem.test, "message": problem.message} for problem in findings.problems],
    }
    yield json.dumps(head, indent=2).removesuffix("\n}") + ',\n  "kernels": ['
    between = "\n    "
    for row in findings.rows:
        yield between + json.dumps(_kernel(row))
        between = ",\n    "
    yield "\n  ]\n}\n"


def _kernel(row: KernelRow) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(row.facts),
        "configurations": row.configurations,
        "tests": list(row.tests),
        "devices": {name: _device(judged) for name, judged in row.devices.items()},
    }


def _device(judged: Judged) -> dict[str, Any]:
    return {
        "verdict": judged.judgement.fit.value,
        "reason": judged.judgement.reason,
        "held_against": str(judged.held_against) if judged.held_against is not None else None,
        "figures": _figures(judged.figures) if judged.figures is not None else None,
    }


def _figures(figures: Figures) -> dict[str, Any]:
    code = msgspec.to_builtins(figures.code) if figures.code is not None else {}
    return {"shared_memory": figures.shared_memory, "threads": figures.threads, **code}
