"""``gpumatrix plan``: the jobs of a workflow."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from pytest_gpumatrix.commands.command import Command, config_argument
from pytest_gpumatrix.commands.output import put
from pytest_gpumatrix.errors import GpuMatrixError

_HELP = """\
Say which jobs a workflow needs, one per device of gpumatrix.yml, and which devices a report must then see.

exit codes: 0 ok, 2 a mistake in gpumatrix.yml (no device, one without runs-on, more than 256)
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    config_argument(parser)
    parser.add_argument(
        "--format",
        choices=("json", "github"),
        default="json",
        help="github: also write the outputs of a step of a workflow",
    )


def _run(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.config.load import FILE_NAME, find_config, load_config
    from pytest_gpumatrix.github.plan import make_plan
    from pytest_gpumatrix.github.step import write_outputs

    path = given.config or find_config(Path.cwd())
    if path is None:
        raise GpuMatrixError(f"no {FILE_NAME} here or above: it names the devices; name another file by --config")
    plan = make_plan(load_config(path))
    if given.format == "github":
        write_outputs(os.environ, plan.outputs())
    put(json.dumps({"matrix": plan.matrix, "devices": plan.devices}, indent=2) + "\n", None)
    return 0


COMMAND = Command(
    name="plan",
    summary="turn gpumatrix.yml into the jobs of a workflow",
    help=_HELP,
    arguments=_arguments,
    run=_run,
)
