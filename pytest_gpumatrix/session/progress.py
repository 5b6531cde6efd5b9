"""A progress line for what takes a while at the end of a run."""

from __future__ import annotations

import time
from typing import Any

_QUIET_SECONDS = 2.0  # what takes less needs no line
_INTERVAL = {True: 0.2, False: 10.0}  # seconds between lines: on a terminal they overwrite each other


class CompileProgress:
    """Tells the terminal how many compilations are done. Without a terminal reporter it tells nobody."""

    def __init__(self, terminalreporter: Any, devices: int) -> None:
        self._reporter, self._devices = terminalreporter, devices
        self._started = self._last = time.monotonic()
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """``done`` of ``total`` compilations are done."""
        now = time.monotonic()
        if self._reporter is None or now - self._started < _QUIET_SECONDS:
            return
        live = bool(self._reporter.hasmarkup)
        if now - self._last < _INTERVAL[live] and done < total:
            return
        self._last = now
        line = f"gpumatrix: {done} of {total} compilations are done (kernels x {self._devices} devices)"
        if not self._shown:
            self._reporter.ensure_newline()
        self._shown = True
        if live:
            self._reporter.rewrite(line, erase=True)
        else:
            self._reporter.write_line(line)

    def note(self, text: str) -> None:
        """Something to know that is no failure, on a line of its own."""
        if self._reporter is not None:
            self._reporter.ensure_newline()
            self._reporter.write_line(f"gpumatrix: note: {text}")

    def close(self) -> None:
        """End the line."""
        if self._shown:
            self._reporter.ensure_newline()
