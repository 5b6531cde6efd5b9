"""The end of a --gpu-matrix run: its columns, their files, and what to make of them."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.junit import write_junit
from pytest_gpumatrix.record.outcome import Evidence, Outcome, Standing
from pytest_gpumatrix.record.results import Results, column_file_name
from pytest_gpumatrix.session.columns import Columns
from pytest_gpumatrix.session.facts import loaded_versions
from pytest_gpumatrix.session.gpu_tests import GpuTest
from pytest_gpumatrix.session.matrix import Matrix


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """What a finished session says beside its tests."""

    why_red: tuple[str, ...]  # why the exit code is 1 where pytest's own would be 0

    def lines(self, terminalreporter: Any) -> list[str]:
        return list(self.why_red)


def finish_session(
    *,
    config: pytest.Config,
    columns: Columns,
    matrix: Matrix,
    facts: SessionFacts,
    cells: Mapping[str, Cell],
    gpu_tests: Mapping[str, GpuTest],
    exchange: Path,
    out: Path | None,
) -> Ended:
    facts = dataclasses.replace(facts, versions=loaded_versions())
    ran = Column(device=columns.running.device, evidence=Evidence.NATIVE, cells=cells, facts=facts)
    if out:
        write_junit(ran, out / column_file_name(ran.device, ran.evidence, "xml"))
    lost = [t for t, c in cells.items() if c.standing is Standing.UNKNOWN]
    return Ended(why_red=(f"{len(lost)} tests never reported",) if lost else ())
