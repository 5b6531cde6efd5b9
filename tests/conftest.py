"""The project that the acceptance tests work on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.project import Project

FAKE_NVML = Path(__file__).parent / "fake_nvml"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project on a machine without a GPU."""
    for variable in ("TRITON_INTERPRET", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAKE_NVML), os.environ.get("PYTHONPATH", "")]))
    return Project(pytester, monkeypatch).on()
