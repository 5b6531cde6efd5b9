"""What recording costs a suite of GPU tests as a whole: pytest with --gpu-matrix and without, for recording_cost."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pytest_gpumatrix.hardware import catalogue

SUITE = "tests/trainer/test_kernels.py"


def measure_suite(pairs: int, folder: Path) -> dict[str, Any]:
    """Medians of both, in seconds, and their ratio, after one run of each."""
    name = torch.cuda.get_device_name()
    profile = catalogue.load().resolve(name)  # one that is not known has no column of its own
    options = {False: [], True: ["--gpu-matrix", f"--gpu-devices={profile.id}"]}
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in range(1 + pairs):
        for recorded in (False, True) if number % 2 else (True, False):
            took = suite_seconds(options[recorded], folder)
            if number:
                times[recorded].append(took)
    plain, recorded_too = (statistics.median(times[recorded]) for recorded in (False, True))
    return {"work": "suite", "unit": "s", "with": recorded_too, "without": plain, "ratio": recorded_too / plain}


def suite_seconds(options: Sequence[str], folder: Path) -> float:
    """Of one run of pytest, from its start to its end. RuntimeError if not all passes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", SUITE, *options]
    environment = {**os.environ, "GPUMATRIX_CACHE_DIR": str(folder / "cache")}
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return took
