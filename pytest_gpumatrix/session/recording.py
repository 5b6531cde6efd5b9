"""Records a session under --gpu-matrix: the journal while it runs, the columns when it ends. In the controller only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.journal import (
    SESSION,
    CollectedLine,
    EndLine,
    FinishLine,
    JournalWriter,
    Line,
    PhaseLine,
    SessionLine,
    StartLine,
    cells_of,
)
from pytest_gpumatrix.record.outcome import Outcome, Standing
from pytest_gpumatrix.record.phase import Phase
from pytest_gpumatrix.session.judged_tests import JudgedTest
from pytest_gpumatrix.session.reports import collection_error, phase_of
from pytest_gpumatrix.triage.printable import printable


class Recording:
    """The events of the running column, in memory and, where a folder is given, in its journal."""

    def __init__(self, first: SessionLine, writer: JournalWriter | None) -> None:
        self._lines: list[Line] = []
        self._writer = writer
        self._evidence = first.evidence
        self._interrupt: str | None = None
        self._uncollected: set[str] = set()
        self._last: EndLine | None = None  # what ``close`` writes
        self.collected: Mapping[str, str | None] = {}  # the tests that the session means to run, with their gpu marks
        self.crashed = 0  # tests whose xdist worker died
        self._add(first)

    def cells(self) -> Mapping[str, Cell]:
        """Each test's cell, as far as the session has come."""
        return cells_of(self._lines, evidence=self._evidence)

    def note_collected(self, tests: Sequence[str], judged: Mapping[str, JudgedTest]) -> None:
        """The tests that the session means to run."""
        names = [printable(test) for test in tests]
        self.collected = {name: judged[name].requirement if name in judged else None for name in names}
        self._add(CollectedLine(tests=dict(self.collected)))

    def end(self, session: pytest.Session, exitstatus: int) -> None:
        """The session has ended. After an internal error nothing says that it did: the rest is unknown."""
        if exitstatus == pytest.ExitCode.TESTS_FAILED and not any(
            cell.standing is Standing.BAD for cell in self.cells().values()
        ):
            # A plugin's own failure, such as coverage below its limit: a report of the tests alone would be green.
            message = "pytest ended with exit code 1, and no test is to blame"
            self._add(PhaseLine(phase=Phase(test=SESSION, when="session", outcome=Outcome.ERROR, message=message)))
        if exitstatus != pytest.ExitCode.INTERNAL_ERROR:
            stopped = self._interrupt or str(session.shouldfail or session.shouldstop or "") or None
            self._last = EndLine(stopped=stopped, interrupted=self._interrupt is not None)
            self._lines.append(self._last)

    def close(self) -> None:
        """Write the journal's last line: what it tells is all there is to know."""
        if self._writer is None:
            return
        if self._last is not None:
            self._writer.write(self._last)
        self._writer.close()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that could not be collected is an error of its own name; each xdist worker tells it."""
        if report.failed and report.nodeid not in self._uncollected:
            self._uncollected.add(report.nodeid)
            self._add(PhaseLine(phase=collection_error(report)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins; xdist forwards it from the worker."""
        self._add(StartLine(test=printable(nodeid)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A report of a test."""
        phase = phase_of(report)
        self.crashed += phase.outcome is Outcome.CRASHED
        self._add(PhaseLine(phase=phase))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A test has ended."""
        self._add(FinishLine(test=printable(nodeid)))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Ctrl-C or pytest.exit()."""
        self._interrupt = excinfo.exconly()

    def _add(self, line: Line) -> None:
        self._lines.append(line)
        if self._writer is not None:
            self._writer.write(line)
