"""``gpumatrix report``: what a run found, against a base."""

from __future__ import annotations

import argparse
import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_gpumatrix.commands.command import Command, config_argument, output_argument
from pytest_gpumatrix.commands.output import put, terminal_style

if TYPE_CHECKING:
    from pytest_gpumatrix.verdict.verdict import Verdict

_HELP = """\
Say what a run found: which device broke, over which devices, and why. HEAD and BASE are folders that
`pytest --gpu-matrix --gpu-matrix-out=DIR` wrote, or that hold <device>.xml files of any pytest.

examples:
  gpumatrix report results
  gpumatrix report results --base base-results
  gpumatrix report results --base base-results --format markdown --output summary.md
  gpumatrix report results --format json | jq .headline

exit codes, the first that holds: 2 a mistake in what was given, 1 regression, 3 incomplete (a device is missing), 0 ok
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("head", type=Path, metavar="HEAD", help="folder with the results of the change")
    parser.add_argument("--base", type=Path, help="folder with the results of the commit to compare with")
    config_argument(parser)
    parser.add_argument(
        "--format",
        choices=("terminal", "markdown", "json", "github"),
        default="terminal",
        help="github: also write the job summary and outputs of a step of a workflow",
    )
    output_argument(parser)


def _run(given: argparse.Namespace) -> int:
    verdict = _verdict(given)
    if given.format == "github":
        from pytest_gpumatrix.github.publish import publish

        publish(verdict, os.environ)
    put(_text(verdict, given), given.output)
    return verdict.exit_code


def _verdict(given: argparse.Namespace) -> Verdict:
    from pytest_gpumatrix.config.load import config_for
    from pytest_gpumatrix.record.results import read_results
    from pytest_gpumatrix.verdict.judge import judge

    config = config_for(Path.cwd(), given.config)
    head = read_results(given.head)
    base = read_results(given.base) if given.base else None
    return judge(config, head, base, today=datetime.datetime.now(tz=datetime.timezone.utc).date())


def _text(verdict: Verdict, given: argparse.Namespace) -> str:
    if given.format == "json":
        from pytest_gpumatrix.render.report_json import render_json

        return render_json(verdict)
    if given.format == "markdown":
        from pytest_gpumatrix.render.markdown import render_markdown

        return render_markdown(verdict)
    from pytest_gpumatrix.render.terminal import render_report

    return render_report(verdict, **terminal_style(given.output))


COMMAND = Command(
    name="report",
    summary="say what a run found, against a base",
    help=_HELP,
    arguments=_arguments,
    run=_run,
)
