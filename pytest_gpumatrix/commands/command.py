"""What a command is to the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One subcommand: what it is for, its arguments, and what it does with them (returns the exit code)."""

    name: str
    summary: str
    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
