"""Columns written to a folder, by the outcomes of their tests."""

from __future__ import annotations

from pathlib import Path

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.junit_write import write_junit
from pytest_gpumatrix.record.outcome import Evidence, Outcome


def write(folder: Path, device: str, evidence: Evidence, commit: str | None = None, **outcomes: Outcome) -> Path:
    return write_facts(folder, device, evidence, SessionFacts(commit=commit), outcomes)


def write_facts(
    folder: Path, device: str, evidence: Evidence, facts: SessionFacts, outcomes: dict[str, Outcome]
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    cells = {
        f"t.py::{name}": Cell(test=f"t.py::{name}", outcome=outcome, evidence=evidence)
        for name, outcome in outcomes.items()
    }
    path = folder / f"{device}.{evidence.value}.xml"
    write_junit(Column(device=device, evidence=evidence, cells=cells, facts=facts), path)
    return path
