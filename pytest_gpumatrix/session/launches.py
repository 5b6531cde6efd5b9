"""Records the launches of the tests that are judged for other devices, in every process that runs tests."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.compiling.machine import installed
from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import Launch, Problem
from pytest_gpumatrix.portability.tape.tape import SCHEMA, Header, Tape, TapeWriter, merge_tapes, read_tape
from pytest_gpumatrix.session.columns import Columns
from pytest_gpumatrix.session.fixture_launches import FixtureLaunches
from pytest_gpumatrix.session.judged_tests import describe_tests, is_judged, write_judged_tests
from pytest_gpumatrix.session.loaded import loaded_versions
from pytest_gpumatrix.session.machine import runs_tests, worker_id
from pytest_gpumatrix.session.matrix import Matrix

_DISTRIBUTIONS = ("gpumatrix", "torch", "triton", "cuda-core")
EXCHANGE_INPUT = "gpumatrix_exchange"  # the key of an xdist worker's input that names the folder
EXCHANGE = pytest.StashKey[Path]()  # the folder that the processes of one session share


class LaunchRecording:
    """Writes a tape per process into the folder that the controller reads at the end."""

    def __init__(self, config: pytest.Config, columns: Columns, matrix: Matrix) -> None:
        self._config, self._columns, self._matrix = config, columns, matrix
        self._writer: TapeWriter | None = None
        gpu = columns.running.gpu
        self._recorder = Recorder(
            self._write,
            rootdir=config.rootpath,
            capability=gpu.capability if gpu else None,
            posed=columns.running.posed,
        )
        self._fixtures = FixtureLaunches(self._recorder)
        self._imported: dict[str, Sequence[Launch | Problem]] = {}  # what a module or package launched at its import

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Begin to follow launches: importing a test module may make some."""
        if runs_tests(self._config):
            self._recorder.install()
            self._config.add_cleanup(self._recorder.uninstall)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Launches of a module's import belong to each of its tests."""
        with self._recorder.aside() as lines:
            report = yield
        if lines:
            self._imported[collector.nodeid] = lines
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin to record. In a worker, before xdist tells the controller: leave what only a worker knows."""
        if not runs_tests(self._config) or not session.items:
            return
        worker = worker_id(self._config)
        folder = _exchange_folder(self._config, worker)
        if worker is not None:
            tests = describe_tests(session.items, self._columns, self._matrix)
            write_judged_tests(tests, folder / f"tests.{worker}.json")
        gpu = self._columns.running.gpu
        header = Header(
            schema=SCHEMA,
            rootdir=str(self._config.rootpath),
            sys_path=tuple(sys.path),  # by now the test modules are imported, with what that put on the path
            capability=str(gpu.capability) if gpu else None,
            versions=tape_versions(),
        )
        self._writer = TapeWriter(folder / f"launches.{worker or 'main'}.jsonl", header)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """The tape is whole before the controller reads it; a line that could not be written is an error."""
        self._recorder.uninstall()
        if self._writer is not None:
            self._writer.close()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Launches in a judged test's setup, call and teardown are the test's."""
        if self._writer is None or not is_judged(item, self._columns):
            return (yield)
        with self._recorder.during(item.nodeid):
            for node in item.listchain():
                self._recorder.adopt(self._imported.get(node.nodeid, ()))
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Launches of a fixture that several tests share belong to each of them."""
        with self._fixtures.setting_up(fixturedef, request):
            return (yield)

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        """What a fixture launched belongs to no test after its end."""
        self._fixtures.forget(fixturedef)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Before its fixtures end: by now a test has asked for all that it uses."""
        self._fixtures.end_of(item, recorded=is_judged(item, self._columns))
        return (yield)

    def _write(self, line: Launch | Problem) -> None:
        if self._writer is None:
            raise RuntimeError("a launch of a test before the tape was begun")  # tests run after the collection
        self._writer.write(line)


def read_tapes(exchange: Path) -> Tape | None:
    """What all processes recorded, or None if none came so far as to begin. A tape that cannot be read: an error."""
    tapes: Sequence[Tape] = [read_tape(path) for path in sorted(exchange.glob("launches.*.jsonl"))]
    return merge_tapes(tapes) if tapes else None


def tape_versions() -> dict[str, str]:
    """The versions that decide what a kernel is compiled to. Nothing is imported for it: a test may do so later."""
    return {**dict(installed(_DISTRIBUTIONS)), **loaded_versions()}


def _exchange_folder(config: pytest.Config, worker: str | None) -> Path:
    if worker is None:
        return config.stash[EXCHANGE]
    folder = Path(config.workerinput[EXCHANGE_INPUT])  # type: ignore[attr-defined]  # set by xdist
    if not folder.is_dir():
        raise GpuMatrixError(f"worker {worker} cannot see {folder}: --gpu-matrix needs workers on this machine")
    return folder
