"""The reporting process of a --gpu-matrix run: header and journal; at the end the columns, files and matrix."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.hardware.sizes import format_size
from pytest_gpumatrix.record.column import SessionFacts
from pytest_gpumatrix.record.journal import SessionLine
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.record.results import column_file_name
from pytest_gpumatrix.session.columns import Columns
from pytest_gpumatrix.session.facts import session_facts, torch_line
from pytest_gpumatrix.session.finish import Ended, finish_session
from pytest_gpumatrix.session.gpu_tests import GpuTest, describe_gpu_tests, read_gpu_tests
from pytest_gpumatrix.session.launches import EXCHANGE, EXCHANGE_INPUT
from pytest_gpumatrix.session.machine import Machine
from pytest_gpumatrix.session.matrix import Matrix
from pytest_gpumatrix.session.recording import Recording


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
        self._exchange = Path(tempfile.mkdtemp(prefix="gpumatrix-"))
        config.add_cleanup(lambda: shutil.rmtree(self._exchange, ignore_errors=True))
        config.stash[EXCHANGE] = self._exchange
        self._gpu_tests: Mapping[str, GpuTest] = {}
        self._facts: SessionFacts = session_facts(columns.running, machine.detection, config.rootpath)
        self._recording: Recording | None = None
        self._ended: Ended | None = None

    def pytest_report_header(self) -> list[str]:
        """The device, by name and UUID, and what the columns are."""
        running, detection = self._columns.running, self._machine.detection
        if running.gpu is None:
            here = f"no GPU here ({self._machine.why_no_gpu}): column cpu"
            here += ", Triton by its interpreter" if self._machine.interpreting else ""
        else:
            gpu = running.gpu
            here = (
                f"{running.device} = {gpu.name} ({gpu.capability}, {format_size(gpu.memory)}, {gpu.uuid}), "
                f"driver {detection.driver_version}"
            )
        compiled = ", ".join(f"{device.name} ({device.profile.name})" for device in self._columns.compiled)
        lines = [
            f"gpumatrix: {here}",
            f"gpumatrix: compiled for {compiled}" if compiled else "",
            torch_line() or "",
        ]
        if not self._matrix.devices:
            lines.append("gpumatrix: no gpumatrix.yml and no --gpu-devices: this machine's column only")
        lines += [f"gpumatrix: note: {note}" for note in self._columns.notes]
        return [line for line in lines if line]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker where to leave its launches."""
        node.workerinput[EXCHANGE_INPUT] = str(self._exchange)

    def pytest_sessionstart(self) -> None:
        """Open the journal; a file of the same column from an earlier run would contradict it."""
        if self._config.option.collectonly:
            return
        running = self._columns.running.device
        journal = None
        if self._out is not None:
            journal = self._out / column_file_name(running, Evidence.NATIVE, "jsonl")
            journal.with_suffix(".xml").unlink(missing_ok=True)
        first = SessionLine(device=running, evidence=Evidence.NATIVE, facts=self._facts)
        self._recording = Recording(first, journal)
        self._config.pluginmanager.register(self._recording, "gpumatrix-recording")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What was collected, in a run without workers."""
        if session.items and self._recording is not None:
            self._gpu_tests = describe_gpu_tests(session.items, self._columns.compiled, self._matrix)
            self._recording.note_collected([item.nodeid for item in session.items], self._gpu_tests)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """What the first worker collected; xdist sees to it that they all agree."""
        if self._recording is not None and not self._recording.collected:
            described = sorted(self._exchange.glob("tests.*.json"))
            self._gpu_tests = read_gpu_tests(described[0]) if described else {}
            self._recording.note_collected(list(ids), self._gpu_tests)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Derive the compiled columns, write the files, and make the exit code say what they say."""
        if self._recording is None:
            return
        self._recording.end(session, exitstatus)
        self._ended = finish_session(
            config=self._config,
            columns=self._columns,
            matrix=self._matrix,
            facts=self._facts,
            cells=self._recording.cells(),
            gpu_tests=self._gpu_tests,
            exchange=self._exchange,
            out=self._out,
        )
        if exitstatus == pytest.ExitCode.OK and self._ended.why_red:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the matrix."""
        if self._ended is None:
            return
        terminalreporter.section("GPU matrix")
        for line in self._ended.lines(terminalreporter):
            terminalreporter.write_line(line)
