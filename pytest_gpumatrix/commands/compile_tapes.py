"""``gpumatrix compile``: what the kernels of a tape would do on devices that are not here."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_gpumatrix.commands.command import Command, output_argument
from pytest_gpumatrix.commands.device_options import device_arguments, devices_given
from pytest_gpumatrix.commands.output import progress_line, put, terminal_style

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.judging.compile_launches import Compiling

_HELP = """\
Compile every kernel that tests launched for devices that are not here, and say which would fail there, and why, and
which would be slow. TAPE is launches.tape.jsonl, as `pytest --gpu-matrix --gpu-matrix-out=DIR` wrote it. No GPU is
needed. The tape names the modules that are imported, and code that is compiled: take one that you would run tests of.

Every launch is judged for every device: a tape does not hold the tests' marks, so that what a mark skips on a device is
judged for it too, and may fail. (At the end of `pytest --gpu-matrix` such a test is skipped there.) A Triton kernel
whose sources differ from those that were recorded is not known; CUDA C++ is judged by the tape's own source.

examples:
  gpumatrix compile out/launches.tape.jsonl
  gpumatrix compile out/launches.tape.jsonl --devices rtx-3090,rtx-5090
  gpumatrix compile out/launches.tape.jsonl --devices 7.5,8.0,8.6,8.9,9.0,10.0,12.0
  gpumatrix compile h100.tape.jsonl --rootdir . --format json --output kernels.json

exit codes, the first that holds: 2 a mistake in what was given, 1 something fails, 3 something is not known,
0 all fit (some may be slow)
"""
_COMPILERS = ("triton", "cuda-core")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tapes", type=Path, nargs="+", metavar="TAPE", help="what a run launched")
    device_arguments(parser)
    parser.add_argument("--rootdir", type=Path, metavar="DIR", help="where the sources are, if not where they were")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="compilations at a time (default: the processors)")
    parser.add_argument(
        "--budget",
        type=_seconds,
        default=float("inf"),
        metavar="SECONDS",
        help="what it does not reach is not known (default: no limit)",
    )
    parser.add_argument("--format", choices=("terminal", "json"), default="terminal")
    output_argument(parser)


def _run(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.portability.compiling.machine import installed
    from pytest_gpumatrix.portability.compiling.process_ends import sigterm_raises
    from pytest_gpumatrix.portability.judging.tapes import judge_tapes

    devices = devices_given(given.devices, given.config)
    with sigterm_raises(), _compiling(given, len(devices)) as compiling:
        findings = judge_tapes(given.tapes, devices, compiling, rootdir=given.rootdir, own_path=sys.path)
    compilers = dict(installed(_COMPILERS))
    if given.format == "json":
        from pytest_gpumatrix.render.kernels_json import render_kernels_json

        put(render_kernels_json(findings, compilers), given.output)
    else:
        from pytest_gpumatrix.render.kernels import render_kernels

        put(render_kernels(findings, compilers, **terminal_style(given.output)), given.output)
    return findings.exit_code


@contextmanager
def _compiling(given: argparse.Namespace, devices: int) -> Iterator[Compiling]:
    from pytest_gpumatrix.portability.compiling.machine import cache_folder, processors
    from pytest_gpumatrix.portability.judging.compile_launches import Compiling
    from pytest_gpumatrix.render.progress import of_compilations

    with tempfile.TemporaryDirectory(prefix="gpumatrix-") as fallback, progress_line(of_compilations(devices)) as show:
        yield Compiling(
            jobs=given.jobs or processors(),
            budget_seconds=given.budget,
            cache_dir=cache_folder(os.environ, Path(fallback)),
            environ=os.environ,
            progress=show,
            note=lambda text: print(f"gpumatrix: note: {text}", file=sys.stderr),
        )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes: write 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    from pytest_gpumatrix.portability.judging.compile_launches import budget_seconds

    try:
        return budget_seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from error


COMMAND = Command(
    name="compile",
    summary="compile what tests launched for devices that are not here",
    help=_HELP,
    arguments=_arguments,
    run=_run,
)
