"""``gpumatrix devices``: the GPUs that are here and those that are known."""

from __future__ import annotations

import argparse
import os
import shutil

from pytest_gpumatrix.commands.command import Command
from pytest_gpumatrix.commands.output import put


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("terminal", "json"), default="terminal")


def _run(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.hardware import catalogue, detection
    from pytest_gpumatrix.render.devices import render_devices, render_devices_json

    here, known = detection.detect(os.environ), catalogue.load().profiles
    if given.format == "json":
        put(render_devices_json(here, known), None)
    else:
        put(render_devices(here, known, width=shutil.get_terminal_size().columns), None)
    return 0


COMMAND = Command(
    name="devices",
    summary="list the GPUs that are here and the profiles that are known",
    help="List the GPUs that CUDA shows here, by NVML and without a context, and the known profiles.",
    arguments=_arguments,
    run=_run,
)
