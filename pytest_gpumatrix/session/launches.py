"""Records the launches of each test, in every process that runs tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_gpumatrix.session.columns import Columns
from pytest_gpumatrix.session.gpu_tests import describe_gpu_tests, write_gpu_tests
from pytest_gpumatrix.session.machine import worker_id
from pytest_gpumatrix.session.matrix import Matrix

EXCHANGE_INPUT = "gpumatrix_exchange"  # the key of an xdist worker's input that names the folder
EXCHANGE = pytest.StashKey[Path]()


class LaunchRecording:
    """Writes a tape per process into the folder that the controller reads at the end."""

    def __init__(self, config: pytest.Config, columns: Columns, matrix: Matrix) -> None:
        self._config, self._columns, self._matrix = config, columns, matrix

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """In a worker, before xdist tells the controller: what the marks say, which only a worker knows."""
        worker = worker_id(self._config)
        if worker is not None:
            tests = describe_gpu_tests(session.items, self._columns.compiled, self._matrix)
            write_gpu_tests(tests, exchange_folder(self._config) / f"tests.{worker}.json")


def exchange_folder(config: pytest.Config) -> Path:
    """The folder that the processes of one session share."""
    if worker_id(config) is not None:
        return Path(config.workerinput[EXCHANGE_INPUT])  # type: ignore[attr-defined]  # set by xdist
    return config.stash[EXCHANGE]
