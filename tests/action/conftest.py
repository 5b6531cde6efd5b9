"""A step of a workflow in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.action.runner import Step


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """A step with nothing checked out, on a machine without a GPU."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "runner").mkdir()
    return Step(folder=tmp_path / "workspace", runner=tmp_path / "runner")


@pytest.fixture(autouse=True)
def not_interpreting(monkeypatch: pytest.MonkeyPatch) -> None:
    """This session may interpret Triton's kernels; the runners that its tests stand for do not."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
