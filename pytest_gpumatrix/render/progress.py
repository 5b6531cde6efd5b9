"""How far something is, in one line, once it takes a while."""

from __future__ import annotations

import time
from collections.abc import Callable

_QUIET_SECONDS = 2.0  # what takes less needs no line
_INTERVAL = {True: 0.2, False: 10.0}  # seconds between lines: on a terminal they overwrite each other


class Progress:
    """``show`` is told the line; ``live`` says that each overwrites the last; ``what`` is done, for people."""

    def __init__(self, show: Callable[[str], None], *, live: bool, what: str) -> None:
        self._show, self._live, self._what = show, live, what
        self._started = self._last = time.monotonic()
        self.shown = False

    def __call__(self, done: int, total: int) -> None:
        """``done`` of ``total`` are done."""
        now = time.monotonic()
        if now - self._started < _QUIET_SECONDS or (now - self._last < _INTERVAL[self._live] and done < total):
            return
        self._last = now
        self.shown = True
        self._show(f"gpumatrix: {done:,} of {total:,} {self._what}")


def of_compilations(devices: int) -> str:
    """What is done where kernels are compiled for so many devices."""
    return f"compilations are done (kernels x {devices} device{'s' if devices != 1 else ''})"
