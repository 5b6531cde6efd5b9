"""The commands. Each gathers its inputs, calls one stage, and prints what comes of it."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_gpumatrix.errors import GpuMatrixError

if TYPE_CHECKING:
    from pytest_gpumatrix.verdict.verdict import Verdict

_REPORT_HELP = """\
Say what a run found: which device broke, over which devices, and why. HEAD and BASE are folders that
`pytest --gpu-matrix --gpu-matrix-out=DIR` wrote, or that hold <device>.xml files of any pytest.

examples:
  gpumatrix report results
  gpumatrix report results --base base-results
  gpumatrix report results --base base-results --format markdown --output summary.md
  gpumatrix report results --format json | jq .headline

exit codes: 0 ok, 1 regression, 2 a mistake in what was given, 3 incomplete (a device is missing)
"""

_PLAN_HELP = """\
Say which jobs a workflow needs, one per device of gpumatrix.yml, and which devices a report must then see.

exit codes: 0 ok, 2 a mistake in gpumatrix.yml (no device, one without runs-on, more than 256)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One subcommand: what it is for, its arguments, and what it does with them (returns the exit code)."""

    name: str
    summary: str
    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    given = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = given.run
    try:
        return run(given)
    except GpuMatrixError as error:
        from pytest_gpumatrix.render.text import clean

        print(f"gpumatrix: error: {clean(str(error))}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # Who read the output has seen enough; what is left in the buffer has no reader.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpumatrix", description="Say on every change which GPU it breaks, and why.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        own = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.help,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.arguments(own)
        own.set_defaults(run=command.run)
    return parser


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("head", type=Path, metavar="HEAD", help="folder with the results of the change")
    parser.add_argument("--base", type=Path, help="folder with the results of the commit to compare with")
    parser.add_argument("--config", type=Path, help="the file to use (default: gpumatrix.yml here or above)")
    parser.add_argument(
        "--format",
        choices=("terminal", "markdown", "json", "github"),
        default="terminal",
        help="github: also write the job summary and outputs of a step of a workflow",
    )
    parser.add_argument("--output", type=Path, help="write to this file and not to the screen")


def _report(given: argparse.Namespace) -> int:
    verdict = _verdict(given)
    if given.format == "github":
        from pytest_gpumatrix.github.publish import publish

        publish(verdict, os.environ)
    _put(_text(verdict, given), given.output)
    return verdict.exit_code


def _verdict(given: argparse.Namespace) -> Verdict:
    from pytest_gpumatrix.config.config import Config
    from pytest_gpumatrix.config.load import find_config, load_config
    from pytest_gpumatrix.record.results import read_results
    from pytest_gpumatrix.verdict.judge import judge

    path = given.config or find_config(Path.cwd())
    config = load_config(path) if path else Config()
    head = read_results(given.head)
    base = read_results(given.base) if given.base else None
    return judge(config, head, base, today=datetime.datetime.now(tz=datetime.timezone.utc).date())


def _text(verdict: Verdict, given: argparse.Namespace) -> str:
    to_screen = given.output is None
    if given.format == "json":
        from pytest_gpumatrix.render.report_json import render_json

        return render_json(verdict)
    if given.format == "markdown":
        from pytest_gpumatrix.render.markdown import render_markdown

        return render_markdown(verdict)
    from pytest_gpumatrix.render.terminal import render_report

    return render_report(
        verdict,
        width=shutil.get_terminal_size().columns if to_screen else 80,
        colour=to_screen and sys.stdout.isatty() and not os.environ.get("NO_COLOR"),
        encoding=sys.stdout.encoding if to_screen else "utf-8",
    )


def _put(text: str, output: Path | None) -> None:
    """Write to the screen, or to a file that appears whole or is left as it was."""
    if output is None:
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", "replace"))
        sys.stdout.flush()
        return
    from pytest_gpumatrix.record.atomic import write_atomically

    try:
        write_atomically(output, text.encode("utf-8", "replace"))
    except OSError as error:
        raise GpuMatrixError(f"--output {output}: cannot be written: {error.strerror or error}") from error


def _plan_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, help="the file to use (default: gpumatrix.yml here or above)")
    parser.add_argument(
        "--format",
        choices=("json", "github"),
        default="json",
        help="github: also write the outputs of a step of a workflow",
    )


def _plan(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.config.load import FILE_NAME, find_config, load_config
    from pytest_gpumatrix.github.plan import make_plan
    from pytest_gpumatrix.github.step import write_outputs

    path = given.config or find_config(Path.cwd())
    if path is None:
        raise GpuMatrixError(f"no {FILE_NAME} here or above: it names the devices; name another file by --config")
    plan = make_plan(load_config(path))
    if given.format == "github":
        write_outputs(os.environ, plan.outputs())
    _put(json.dumps({"matrix": plan.matrix, "devices": plan.devices}, indent=2) + "\n", None)
    return 0


def _action_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mode", choices=("plan", "run", "report"))


def _action(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.github import inputs
    from pytest_gpumatrix.github.run import run_tests
    from pytest_gpumatrix.github.step import stop_commands

    stop_commands()
    if given.mode == "run":
        return run_tests(os.environ, sys.executable)
    arguments = inputs.plan_arguments if given.mode == "plan" else inputs.report_arguments
    return main(arguments(os.environ))


def _devices_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("terminal", "json"), default="terminal")


def _devices(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.hardware import catalogue, detection
    from pytest_gpumatrix.render.devices import render_devices, render_devices_json

    here, known = detection.detect(os.environ), catalogue.load().profiles
    if given.format == "json":
        _put(render_devices_json(here, known), None)
    else:
        _put(render_devices(here, known, width=shutil.get_terminal_size().columns), None)
    return 0


COMMANDS: tuple[Command, ...] = (
    Command(
        name="report",
        summary="say what a run found, against a base",
        help=_REPORT_HELP,
        arguments=_report_arguments,
        run=_report,
    ),
    Command(
        name="devices",
        summary="list the GPUs that are here and the profiles that are known",
        help="List the GPUs that CUDA shows here, by NVML and without a context, and the known profiles.",
        arguments=_devices_arguments,
        run=_devices,
    ),
    Command(
        name="plan",
        summary="turn gpumatrix.yml into the jobs of a workflow",
        help=_PLAN_HELP,
        arguments=_plan_arguments,
        run=_plan,
    ),
    Command(
        name="action",
        summary="what the GitHub Action's steps run; its inputs are GPUMATRIX_* variables",
        help="Run one of the three actions. docs/workflow.md has their inputs, which come as GPUMATRIX_* variables.",
        arguments=_action_arguments,
        run=_action,
    ),
)
