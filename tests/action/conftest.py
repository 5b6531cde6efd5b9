"""What the action's child processes inherit."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def not_interpreting(monkeypatch: pytest.MonkeyPatch) -> None:
    """This session may interpret Triton's kernels; the runners that its tests stand for do not."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
