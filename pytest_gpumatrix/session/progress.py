"""A progress line for what takes a while at the end of a run."""

from __future__ import annotations

from typing import Any

from pytest_gpumatrix.render.progress import Progress, of_compilations


def begin_line(terminalreporter: Any) -> None:
    """End the line that the terminal is in; pytest's own ``ensure_newline`` knows nothing of the dots under -q."""
    terminalreporter.ensure_newline()
    writer = terminalreporter.config.get_terminal_writer()
    if writer.width_of_current_line:
        writer.line()


class TerminalProgress:
    """Tells pytest's terminal how many compilations are done. Without a terminal reporter it tells nobody."""

    def __init__(self, terminalreporter: Any, devices: int) -> None:
        self._reporter = terminalreporter
        live = bool(terminalreporter is not None and terminalreporter.hasmarkup)
        self._progress = Progress(self._show, live=live, what=of_compilations(devices))
        self._live, self._begun = live, False

    def __call__(self, done: int, total: int) -> None:
        """``done`` of ``total`` compilations are done."""
        if self._reporter is not None:
            self._progress(done, total)

    def note(self, text: str) -> None:
        """Something to know that is no failure, on a line of its own."""
        if self._reporter is not None:
            begin_line(self._reporter)
            self._reporter.write_line(f"gpumatrix: note: {text}")

    def close(self) -> None:
        """End the line."""
        if self._progress.shown:
            begin_line(self._reporter)

    def _show(self, line: str) -> None:
        if not self._begun:
            begin_line(self._reporter)
        self._begun = True
        if self._live:
            self._reporter.rewrite(line, erase=True)
        else:
            self._reporter.write_line(line)
