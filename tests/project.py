"""A project in a folder of its own, on a machine whose GPUs a test chooses, and what its runs leave."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.results import read_results

# As NVML would report them: name, capability, MiB.
GPUS = {
    "h100": "NVIDIA H100 80GB HBM3@9.0@81559",
    "h200": "NVIDIA H200@9.0@143771",
    "rtx3090": "NVIDIA GeForce RTX 3090@8.6@24576",
}

MATRIX = """
version: 1
devices:
  h100: {profile: h100-sxm}
  rtx3090: {profile: rtx-3090}
"""


@dataclass(frozen=True)
class Project:
    """A project, and what its runs leave."""

    pytester: pytest.Pytester
    monkeypatch: pytest.MonkeyPatch

    @property
    def path(self) -> Path:
        return self.pytester.path

    def on(self, *gpus: str) -> Project:
        """The same on a machine with these GPUs."""
        self.monkeypatch.setenv("FAKE_GPUS", ";".join(GPUS[gpu] for gpu in gpus))
        return self

    def tests(self, source: str) -> Project:
        self.pytester.makepyfile(test_it=source)
        return self

    def matrix(self, text: str = MATRIX) -> Project:
        (self.path / "gpumatrix.yml").write_text(text)
        return self

    def run(self, *arguments: str) -> pytest.RunResult:
        # hypothesis' own plugin takes longer to import than the project takes to run.
        plugins = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
        return self.pytester.runpytest_subprocess(*plugins, *arguments)

    def recorded(self, *arguments: str) -> pytest.RunResult:
        return self.run("--gpu-matrix", "--gpu-matrix-out=out", *arguments)

    def cells(self, device: str, folder: str = "out") -> dict[str, Cell]:
        """The cells of a device, by the test's name."""
        for column in read_results(self.path / folder).columns:
            if column.device == device:
                return {test.partition("::")[2]: cell for test, cell in column.cells.items()}
        raise AssertionError(f"no column {device} in {sorted(entry.name for entry in (self.path / folder).iterdir())}")

    def outcomes(self, device: str, folder: str = "out") -> dict[str, str]:
        return {name: cell.outcome.value for name, cell in self.cells(device, folder).items()}

    def report(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """``gpumatrix report``: its exit code and JSON."""
        report = self.path / "report.json"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest_gpumatrix", "report", *arguments]
        result = self.pytester.run(*command, "--format", "json", "--output", report)
        return int(result.ret), json.loads(report.read_text())
