"""``gpumatrix action``: what the steps of the GitHub Action run."""

from __future__ import annotations

import argparse
import os
import sys

from pytest_gpumatrix.commands.command import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mode", choices=("plan", "run", "report"))


def _run(given: argparse.Namespace) -> int:
    from pytest_gpumatrix.cli import main
    from pytest_gpumatrix.github import inputs
    from pytest_gpumatrix.github.run import run_tests
    from pytest_gpumatrix.github.step import stop_commands

    if given.mode != "report":  # it has commands of its own, and stops all others itself
        stop_commands()
    if given.mode == "run":
        return run_tests(os.environ, sys.executable)
    arguments = inputs.plan_arguments if given.mode == "plan" else inputs.report_arguments
    return main(arguments(os.environ))


COMMAND = Command(
    name="action",
    summary="what the GitHub Action's steps run; its inputs are GPUMATRIX_* variables",
    help="Run one of the three actions. docs/workflow.md has their inputs, which come as GPUMATRIX_* variables.",
    arguments=_arguments,
    run=_run,
)
