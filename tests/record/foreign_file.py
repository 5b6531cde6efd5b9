"""A file from elsewhere, to be read for h100."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.record.column import Column
from pytest_gpumatrix.record.junit_read import read_junit
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.triage.cause import Action, Category, Cause

GENUINE = Cause(category=Category.GENUINE_FAILURE, action=Action.REAL_FAILURE, advice="", rule="default")


@pytest.fixture
def no_triage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the failures failed is not the question."""
    monkeypatch.setattr("pytest_gpumatrix.record.junit_cause._classified", lambda *_, **__: GENUINE)


def write(tmp_path: Path, content: str | bytes) -> Path:
    """The file, in the folder."""
    path = tmp_path / "h100.native.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path: Path) -> Column:
    """Its column."""
    return read_junit(path, device="h100", evidence=Evidence.NATIVE)
