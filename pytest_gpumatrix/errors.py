"""The errors that end a command, each with its exit code."""

from __future__ import annotations


class GpuMatrixError(Exception):
    """The user's mistake: the message names the thing, the place and the way out. Exit code 2."""

    exit_code = 2


class InfraError(GpuMatrixError):
    """The machine, not the code, is at fault: the wanted GPU is not here. Exit code 3."""

    exit_code = 3


class CutOff(Exception):  # noqa: N818 - a state of a file that its reader handles, not a mistake
    """A results file begins well and ends too early: its device counts as missing."""
