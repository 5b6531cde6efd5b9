"""``gpumatrix report``: what a run found, against a base."""

from __future__ import annotations

import argparse
import datetime
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_gpumatrix.commands.command import Command, config_argument, output_argument
from pytest_gpumatrix.commands.kept_run import branch_argument, keep, revision_here
from pytest_gpumatrix.commands.output import progress_line, put, say
from pytest_gpumatrix.commands.report_formats import FORMATS, render, written
from pytest_gpumatrix.errors import GpuMatrixError

if TYPE_CHECKING:
    from pytest_gpumatrix.history.store import HistoryStore
    from pytest_gpumatrix.record.results import Results
    from pytest_gpumatrix.verdict.verdict import Verdict

_HELP = """\
Say what a run found: which device broke, over which devices, and why. HEAD and BASE are folders that
`pytest --gpu-matrix --gpu-matrix-out=DIR` wrote, or that hold <device>.xml files of any pytest.

examples:
  gpumatrix report results
  gpumatrix report results --base base-results --write html=report.html --write json=report.json
  gpumatrix report results --base base-results --format markdown --output summary.md
  gpumatrix report results --history history.sqlite --history-branch main
  gpumatrix report results --format json | jq .headline

exit codes, the first that holds: 2 a mistake in what was given, or a file that was refused, 1 regression,
3 incomplete (a device is missing), 0 ok
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("head", type=Path, metavar="HEAD", help="folder with the results of the change")
    parser.add_argument("--base", type=Path, help="folder with the results of the commit to compare with")
    config_argument(parser)
    parser.add_argument(
        "--format",
        choices=(*FORMATS, "github"),
        default="terminal",
        help="annotations: lines that a GitHub runner shows at their places; sarif: for code scanning; github: as "
        "terminal, and write the job summary, annotations, files and outputs of a step of a workflow",
    )
    output_argument(parser)
    parser.add_argument(
        "--write",
        type=written,
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help="write this format to a file as well; may be given several times",
    )
    parser.add_argument(
        "--history", type=Path, metavar="FILE", help="show what this history file says, and add the run to it"
    )
    parser.add_argument("--history-read-only", action="store_true", help="do not add the run: it is of a pull request")
    branch_argument(parser, "--history-branch")


def _run(given: argparse.Namespace) -> int:
    if given.format != "github":
        verdict = _report(given)
        return verdict.exit_code
    from pytest_gpumatrix.github.step import obey_commands, stop_commands
    from pytest_gpumatrix.render.workflow_commands import render_workflow_commands

    token = stop_commands()  # what is printed until it is given back is text, even of an error
    verdict = _report(given)
    obey_commands(token)
    put(render_workflow_commands(verdict), None)
    stop_commands()
    return verdict.exit_code


def _report(given: argparse.Namespace) -> Verdict:
    """Read, judge, show, and keep."""
    with _history(given) as store:
        head, base = _read(given)
        verdict = _judge(given, head, base)
        revision = revision_here(head) if store else ""
        if store is not None:
            from pytest_gpumatrix.history.with_history import with_history

            known = None if isinstance(revision, str) else revision
            verdict = with_history(verdict, store, head, known, branch=given.history_branch)
        _show(given, verdict)
        if store is not None and not given.history_read_only:
            if isinstance(revision, str):
                say(f"{store.path}: this run is not added: {revision}")
            else:
                say(keep(store, head, revision, given.history_branch))
    return verdict


def _history(given: argparse.Namespace) -> AbstractContextManager[HistoryStore | None]:
    """The history file, before anything else is read: a mistake in it costs no time."""
    if given.history is None:
        return nullcontext()
    if given.history_read_only and not given.history.exists():
        say(f"{given.history}: no history yet")
        return nullcontext()
    from pytest_gpumatrix.history.store import open_history

    return open_history(given.history, create=not given.history_read_only)


def _read(given: argparse.Namespace) -> tuple[Results, Results | None]:
    from pytest_gpumatrix.record.results import read_results

    if given.base and not given.base.is_dir():
        raise GpuMatrixError(
            f"--base {given.base}: no such folder; leave it out where there is nothing to compare with"
        )
    with progress_line("columns are read") as progress:
        head = read_results(given.head, progress=progress)
        return head, read_results(given.base, progress=progress) if given.base else None


def _judge(given: argparse.Namespace, head: Results, base: Results | None) -> Verdict:
    from pytest_gpumatrix.config.load import config_for
    from pytest_gpumatrix.verdict.judge import judge

    config = config_for(Path.cwd(), given.config)
    return judge(config, head, base, today=datetime.datetime.now(tz=datetime.timezone.utc).date())


def _show(given: argparse.Namespace, verdict: Verdict) -> None:
    if given.format == "github":
        from pytest_gpumatrix.github.publish import publish

        publish(verdict, os.environ)
    for form, path in given.write:
        put(render(verdict, form, path, head=given.head), path, option="--write")
    put(render(verdict, given.format, given.output, head=given.head), given.output)


COMMAND = Command(
    name="report",
    summary="say what a run found, against a base",
    help=_HELP,
    arguments=_arguments,
    run=_run,
)
