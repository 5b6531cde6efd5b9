"""The reporting process of a --gpu-matrix run: header and journal; at the end the columns, files and matrix."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.emulation.judged import held_against_the_device
from pytest_gpumatrix.portability.tape.tape import Tape
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.journal import JournalWriter, SessionLine
from pytest_gpumatrix.record.outcome import Evidence, Standing
from pytest_gpumatrix.record.result_files import column_file_name
from pytest_gpumatrix.session.columns import Columns
from pytest_gpumatrix.session.compiled import budget_of, compile_columns
from pytest_gpumatrix.session.emulated import Emulated, EmulatedRuns
from pytest_gpumatrix.session.facts import session_facts, with_loaded
from pytest_gpumatrix.session.finish import Ended, finish_session, remove_stale, write_columns
from pytest_gpumatrix.session.header import header_lines, listed
from pytest_gpumatrix.session.judged_tests import JudgedTest, describe_tests, read_judged_tests
from pytest_gpumatrix.session.launches import EXCHANGE, EXCHANGE_INPUT, read_tapes
from pytest_gpumatrix.session.loaded import Loaded, loaded, loaded_in_worker, together
from pytest_gpumatrix.session.machine import Machine, gpu_at_start, runs_tests
from pytest_gpumatrix.session.matrix import Matrix
from pytest_gpumatrix.session.pose import posing_notes, scratch_of
from pytest_gpumatrix.session.progress import TerminalProgress, begin_line
from pytest_gpumatrix.session.recording import Recording

_MOST_UNEXPLAINED_DEATHS = 8  # as many as xdist allows two workers


class MatrixController:
    """Lives in the controller under xdist, and in the only process without it."""

    def __init__(
        self, config: pytest.Config, machine: Machine, matrix: Matrix, columns: Columns, out: Path | None
    ) -> None:
        self._config, self._machine, self._matrix, self._columns, self._out = (
            config,
            machine,
            matrix,
            columns,
            out,
        )
        self._exchange = Path(tempfile.mkdtemp(prefix="gpumatrix-", dir=scratch_of(config)))
        config.add_cleanup(lambda: shutil.rmtree(self._exchange, ignore_errors=True))
        config.stash[EXCHANGE] = self._exchange
        self._judged_tests: Mapping[str, JudgedTest] = {}
        at_start = gpu_at_start(config)
        self._facts: SessionFacts = session_facts(columns.running, machine.detection, at_start, config.rootpath)
        self._loaded: list[Loaded] = []  # by each worker, as far as they lived to tell
        self._not_measured: tuple[str, ...] = ()
        self._recording: Recording | None = None
        self._budget = budget_of(config)
        self._deaths = 0
        self._passed = False  # whether pytest's own exit code was 0
        self._ended: Ended | None = None
        self._runs: EmulatedRuns | None = None
        if columns.emulated and runs_tests(config):
            self._runs = EmulatedRuns(config, columns.emulated, machine.detection.gpus, self._exchange)

    def pytest_report_header(self) -> list[str]:
        """The device, by name and UUID, and what the columns are."""
        return header_lines(self._machine, self._matrix, self._columns)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker where to leave its launches."""
        node.workerinput[EXCHANGE_INPUT] = str(self._exchange)

    def pytest_sessionstart(self) -> None:
        """Open the journal; a file of the same column from an earlier run would contradict it."""
        if not runs_tests(self._config):
            return
        device, evidence = self._columns.running.device, self._columns.running.evidence
        writer = None
        if self._out is not None:
            try:
                writer = JournalWriter(self._out / column_file_name(device, evidence, "jsonl"))
            except GpuMatrixError as error:
                raise pytest.UsageError(f"--gpu-matrix-out: {error}") from error
            derived = [other.name for other in (*self._columns.emulated, *self._columns.compiled)]
            remove_stale(device, evidence, derived, self._out)
        first = SessionLine(device=device, evidence=evidence, facts=self._facts)
        self._recording = Recording(first, writer)
        self._config.pluginmanager.register(self._recording, "gpumatrix-recording")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What was collected, in a run without workers."""
        if session.items and self._recording is not None:
            self._judged_tests = describe_tests(session.items, self._columns, self._matrix)
            self._recording.note_collected([item.nodeid for item in session.items], self._judged_tests)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """What the first worker collected; xdist sees to it that they all agree."""
        if self._recording is not None and not self._recording.collected:
            described = sorted(self._exchange.glob("tests.*.json"))
            self._judged_tests = read_judged_tests(described[0]) if described else {}
            self._recording.note_collected(ids, self._judged_tests)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """End a run whose workers die without a test to blame: xdist's own limit is lifted, and would not."""
        if (told := loaded_in_worker(node)) is not None:
            self._loaded.append(told)
        if error is None:
            return
        self._deaths += 1
        blamed = self._recording.crashed if self._recording is not None else 0
        if self._deaths - blamed > _MOST_UNEXPLAINED_DEATHS:
            pytest.exit(f"gpumatrix: {self._deaths} xdist workers died, outside of any test: {error}", returncode=1)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Derive the other columns, write the files, and make the exit code say what they say."""
        if self._recording is None:
            return
        # Another plugin's hook may have set the session's own status by now, to anything.
        status = exitstatus or session.exitstatus
        self._recording.end(session, status)
        running = self._columns.running
        if running.evidence is Evidence.NATIVE:
            self._recording.close()  # before anything can go wrong
        told = together([loaded(self._config), *self._loaded])
        self._not_measured = told.not_measured
        facts = with_loaded(self._facts, told)
        ran = Column(device=running.device, evidence=running.evidence, cells=self._recording.cells(), facts=facts)
        tape = read_tapes(self._exchange)
        if running.evidence is Evidence.EMULATED:
            self._finish_posing(session, ran, tape)
        else:
            self._finish(session, status, ran, tape)

    def _finish_posing(self, session: pytest.Session, ran: Column, tape: Tape | None) -> None:
        """Hold what passed against the device. Until then the journal does not end: a pass alone is not known yet."""
        compiled = self._compile(tape, ran)[0].cells if tape is not None else {}
        cells = {
            test: held_against_the_device(cell, compiled[test]) if test in compiled else cell
            for test, cell in ran.cells.items()
        }
        if self._out is not None:
            write_columns([replace(ran, cells=cells)], tape, self._out)
        if self._recording is not None:
            self._recording.close()
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            bad = any(cell.standing is Standing.BAD for cell in cells.values())
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if bad else pytest.ExitCode.OK

    def _finish(self, session: pytest.Session, status: int, ran: Column, tape: Tape | None) -> None:
        if self._out is not None:
            write_columns([ran], tape, self._out)  # before anything can go wrong with the others
        emulated = self._emulate(status, ran.facts)
        if emulated is not None and self._out is not None:
            write_columns(emulated.columns, None, self._out)  # with what those runs could not say of themselves
        interrupted = emulated is not None and emulated.interrupted
        compiled = self._compile(tape, ran) if tape is not None and not interrupted else ()
        if self._out is not None:
            write_columns(compiled, None, self._out)
        self._ended = finish_session(
            ran,
            (*(emulated.columns if emulated is not None else ()), *compiled),
            self._judged_tests,
            self._matrix,
            interpreting=self._machine.interpreting,
            out=self._out,
        )
        self._passed = session.exitstatus == pytest.ExitCode.OK
        if interrupted:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        elif self._passed and self._ended.why_red:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _emulate(self, status: int, facts: SessionFacts) -> Emulated | None:
        if self._runs is None or self._recording is None:
            return None
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")

        def say(line: str) -> None:
            if reporter is not None:
                begin_line(reporter)
                reporter.write_line(line)

        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            say(f"gpumatrix: note: this run ended early, so {listed(self._columns.emulated)} is not emulated")
            return None
        return self._runs.run(self._out, facts, self._recording.collected, say)

    def _compile(self, tape: Tape, ran: Column) -> tuple[Column, ...]:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        progress = TerminalProgress(reporter, len(self._columns.compiled))
        try:
            return compile_columns(
                tape,
                ran.cells,
                self._columns,
                self._judged_tests,
                ran.facts,
                budget=self._budget,
                progress=progress,
                note=progress.note,
                fallback=self._exchange / "cache",
            )
        finally:
            progress.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the matrix; the run that this one is a column of does so where a GPU poses."""
        begin_line(terminalreporter)
        for note in (*posing_notes(self._config), *self._not_measured):
            terminalreporter.write_line(f"gpumatrix: note: {note}")
        if self._ended is None:
            return
        terminalreporter.section("GPU matrix")
        for line in self._ended.lines(
            width=shutil.get_terminal_size().columns,
            colour=bool(terminalreporter.hasmarkup),
            encoding=sys.stdout.encoding,
            passed=self._passed,
        ):
            terminalreporter.write_line(line)
