"""The command line: finds the command, and turns what goes wrong into a message and an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from pytest_gpumatrix.commands import action, compile_tapes, devices, expect, history, plan, report, scan, triage
from pytest_gpumatrix.commands.command import Command
from pytest_gpumatrix.errors import GpuMatrixError

COMMANDS: tuple[Command, ...] = (
    report.COMMAND,
    history.COMMAND,
    expect.COMMAND,
    compile_tapes.COMMAND,
    scan.COMMAND,
    triage.COMMAND,
    devices.COMMAND,
    plan.COMMAND,
    action.COMMAND,
)


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
    except BrokenPipeError:  # who read the output has seen enough
        return 128 + 13
    except KeyboardInterrupt:
        return 128 + 2


class _Version(argparse.Action):
    """Reads the version only when it is asked for, as importing importlib.metadata takes its time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import importlib.metadata

        print(f"gpumatrix {importlib.metadata.version('gpumatrix')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpumatrix", description="Say on every change which GPU it breaks, and why.")
    parser.add_argument("--version", action=_Version, nargs=0, help="say the version of gpumatrix")
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
