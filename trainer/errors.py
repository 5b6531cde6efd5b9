"""What ends a run with a message instead of a traceback."""

from __future__ import annotations


class TrainerError(Exception):
    """The user can mend this: the message names the thing and the way out. Exit code 2."""
