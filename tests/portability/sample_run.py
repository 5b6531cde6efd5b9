"""Runs the sample's recording in a process of its own, on a fake GPU or interpreted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from pytest_gpumatrix.portability.tape.launch import Launch
from pytest_gpumatrix.portability.tape.tape import Tape, read_tape

SAMPLE = Path(__file__).parent / "sample"


def record(tape: Path, *arguments: str, interpret: bool = False, **variables: str) -> list[dict[str, Any]]:
    """Write a tape of the sample's launches; returns what Triton's own hook said of what it compiled."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"TRITON_INTERPRET": "1"} if interpret else {}
    found = subprocess.run(
        [sys.executable, "-W", "error", SAMPLE / "record.py", tape, *arguments],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return [msgspec.json.decode(line) for line in found.stdout.splitlines()]


def launches_of(tape: Tape, test: str) -> list[Launch]:
    return [launch for launch in tape.launches if launch.test == test]


def recorded(folder: Path, *arguments: str, interpret: bool = False, environ: Mapping[str, str] | None = None) -> Tape:
    """The tape of the sample's launches."""
    path = folder / "launches.tape.jsonl"
    record(path, *arguments, interpret=interpret, **(environ or {}))
    return read_tape(path)
