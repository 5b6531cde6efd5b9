"""What a command is to the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One subcommand: what it is for, its arguments, and what it does with them (returns the exit code)."""

    name: str
    summary: str
    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def config_argument(parser: argparse.ArgumentParser) -> None:
    """``--config``."""
    parser.add_argument("--config", type=Path, help="the file to use (default: gpumatrix.yml here or above)")


def output_argument(parser: argparse.ArgumentParser) -> None:
    """``--output``."""
    parser.add_argument("--output", type=Path, help="write to this file and not to the screen")
