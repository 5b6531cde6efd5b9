"""A step as a runner starts it: the files it writes to, and what the runner reads from them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import FAKE_NVML
from tests.project import GPUS


def read_outputs(text: str) -> dict[str, str]:
    """GITHUB_OUTPUT as the runner reads it: ``name=value``, or ``name<<delimiter``, lines, delimiter."""
    outputs: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        equals, heredoc = line.find("="), line.find("<<")
        if heredoc >= 0 and (equals < 0 or heredoc < equals):
            name, delimiter = line.split("<<", 1)
            value = []
            while (part := next(lines)) != delimiter:
                value.append(part)
            outputs[name] = "\n".join(value)
        elif line:
            name, outputs[name] = line.split("=", 1)
    return outputs


@dataclass
class Step:
    """Runs one of the three actions' last step in a folder."""

    folder: Path
    runner: Path
    gpu: str = ""  # the GPU of the machine
    inputs: dict[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        inputs = {f"GPUMATRIX_{name.upper().replace('-', '_')}": value for name, value in self.inputs.items()}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPUMATRIX_", "PYTEST_"))}
        return {
            **kept,
            "GITHUB_OUTPUT": str(self.runner / "output"),
            "GITHUB_STEP_SUMMARY": str(self.runner / "summary"),
            "RUNNER_TEMP": str(self.runner),
            "PYTHONPATH": str(FAKE_NVML),
            "FAKE_GPUS": GPUS[self.gpu] if self.gpu else "",
            **self.variables,
            **inputs,
        }

    def command(self, mode: str) -> list[str]:
        return [sys.executable, "-I", "-m", "pytest_gpumatrix", "action", mode]

    def run(self, mode: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run it with more inputs (``pytest_args`` is pytest-args); both streams are one, as the actions have them."""
        self.inputs |= {name.replace("_", "-"): value for name, value in inputs.items()}
        return subprocess.run(
            self.command(mode),
            cwd=self.folder,
            env=self.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )

    @property
    def outputs(self) -> dict[str, str]:
        path = self.runner / "output"
        return read_outputs(path.read_text(encoding="utf-8")) if path.exists() else {}

    @property
    def summary(self) -> str:
        return (self.runner / "summary").read_text(encoding="utf-8")
