"""How processes end: one that was waited for, and this one when it is told to."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn


def how_it_ended(code: int) -> str:
    """The exit code of a process for people, a negative one as the signal that it stands for."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


@contextlib.contextmanager
def sigterm_raises() -> Iterator[None]:
    """In the main thread, and where it would end this process without a word: who handles it otherwise goes on so."""
    own = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if not own:
        yield
        return
    signal.signal(signal.SIGTERM, _raise_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise_exit(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)  # as a shell tells of a process that was ended so
