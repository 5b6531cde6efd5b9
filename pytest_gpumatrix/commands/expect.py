"""``gpumatrix expect``: entries for gpumatrix.yml that would take up what a run found."""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

from pytest_gpumatrix.commands.command import Command, config_argument, output_argument
from pytest_gpumatrix.commands.output import progress_line, put
from pytest_gpumatrix.errors import GpuMatrixError

_DAYS = 90
_HELP = f"""\
Propose expectations for what fails in a run: entries for gpumatrix.yml that say which tests fail where, and by what
cause. Nothing is written to gpumatrix.yml: read them, drop those that should be mended, and paste the rest.

Tests of one function that fail on the same devices by one cause become one entry, if its pattern matches no test that
passes there. What passed only after reruns, or failed in one shard and passed in another, is proposed as flaky. What is
unknown, also by the machine's fault, is named in comments and not proposed.

examples:
  gpumatrix expect --from results
  gpumatrix expect --from results --base base-results --reason "tracked upstream" --until 2027-06-01
  gpumatrix expect --from results --format json | jq '.expectations | length'

An entry holds for {_DAYS} days if --until does not say otherwise.

exit codes: 0 ok, 2 a mistake in what was given (a results file that was refused is one; the others are read)
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from", type=Path, required=True, dest="head", metavar="RESULTS", help="folder with the results of a run"
    )
    parser.add_argument("--base", type=Path, help="propose only what is red, or newly flaky, against these results")
    config_argument(parser)
    parser.add_argument("--reason", help="of each entry (default: the line that decided its cause)")
    parser.add_argument("--until", type=_date, metavar="DATE", help=f"the last day of each (default: {_DAYS} days on)")
    parser.add_argument("--format", choices=("yaml", "json"), default="yaml")
    output_argument(parser)


def _run(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.config.load import FILE_NAME, config_for
    from pytest_gpumatrix.record.results import read_results
    from pytest_gpumatrix.render.expectations import render_expectations_json, render_expectations_yaml
    from pytest_gpumatrix.render.text import clean
    from pytest_gpumatrix.verdict.judge import judge
    from pytest_gpumatrix.verdict.proposals import propose

    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    until = given.until or today + datetime.timedelta(days=_DAYS)
    if until < today:
        raise GpuMatrixError(f"--until {until} is over; give a day from {today} on")
    config = config_for(Path.cwd(), given.config)
    if not config.devices:
        raise GpuMatrixError(f"no {FILE_NAME} here or above: its entries name devices; name another file by --config")
    with progress_line("columns are read") as progress:
        head = read_results(given.head, progress=progress)
        base = read_results(given.base, progress=progress) if given.base else None
    verdict = judge(config, head, base, today=today)
    proposals = propose(
        verdict,
        nameable=frozenset(device.name for device in config.devices),
        until=until,
        reason=given.reason,
        against_base=base is not None,
    )
    render = render_expectations_json if given.format == "json" else render_expectations_yaml
    put(render(proposals), given.output)
    refused = {**verdict.base_refused, **verdict.refused}
    for file, reason in refused.items():
        print(f"gpumatrix: error: {clean(file)} was refused: {clean(reason)}", file=sys.stderr)
    return 2 if refused else 0


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date: write 2027-06-01") from error


COMMAND = Command(
    name="expect",
    summary="propose expectations for what fails",
    help=_HELP,
    arguments=_arguments,
    run=_run,
)
