"""``gpumatrix scan``: what an environment holds that some devices cannot run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_gpumatrix.commands.command import Command, output_argument
from pytest_gpumatrix.commands.device_options import device_arguments, devices_given
from pytest_gpumatrix.commands.output import progress_line, put, terminal_style

_HELP = """\
Say which architectures the installed libraries carry, as machine code (sm_90) and as PTX (compute_90), and which
devices that leaves out. ENV is a virtual environment, a folder or a file. Nothing in it is run or imported; what a
library carries is told by cuobjdump, from `pip install nvidia-cuda-cuobjdump`, from Triton or from the PATH.

examples:
  gpumatrix scan --binaries
  gpumatrix scan --binaries .venv --devices rtx-3090,t4
  gpumatrix scan --binaries build/_C.abi3.so --devices 8.6,9.0,12.0 --format json

exit codes, the first that holds: 2 a mistake in what was given (a file without CUDA code is one), 1 a device is left
out, 3 a file could not be read, 0 nothing is left out
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--binaries",
        type=Path,
        nargs="?",
        const=None,
        required=True,
        metavar="ENV",
        help="look at the installed libraries (default: those of this Python)",
    )
    device_arguments(parser)
    parser.add_argument("--format", choices=("terminal", "json"), default="terminal")
    output_argument(parser)


def _run(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.portability.binaries.environment import environment_at, this_environment
    from pytest_gpumatrix.portability.binaries.scan import scan_binaries
    from pytest_gpumatrix.portability.compiling.machine import processors
    from pytest_gpumatrix.render.binaries import render_binaries, render_binaries_json

    devices = devices_given(given.devices, given.config)
    environment = this_environment(sys.path) if given.binaries is None else environment_at(given.binaries)
    with progress_line("libraries are listed") as progress:
        coverage = scan_binaries(environment, devices, jobs=processors(), progress=progress)
    if given.format == "json":
        put(render_binaries_json(coverage), given.output)
    else:
        put(render_binaries(coverage, **terminal_style(given.output)), given.output)
    return coverage.exit_code


COMMAND = Command(
    name="scan",
    summary="say which devices the installed libraries leave out",
    help=_HELP,
    arguments=_arguments,
    run=_run,
)
