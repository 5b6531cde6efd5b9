"""What is measured of every test under --gpu-matrix: its peak of GPU memory and how long it compiled."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_gpumatrix.record.cell import Metric
from pytest_gpumatrix.session.compile_time import CompileTimes
from pytest_gpumatrix.session.fixtures import recorded_metrics
from pytest_gpumatrix.session.loaded import NOT_MEASURED, cuda_in_use
from pytest_gpumatrix.session.machine import runs_tests

MEMORY, COMPILE_TIME = "gpu_memory_peak", "compile_time"
_MOST_PROBLEMS = 5  # that are told
_MEASURED = pytest.StashKey[Iterable[Metric]]()


class BuiltInMetrics:
    """Measures the setup and the call of each test, in the process that runs it. Imports nothing, and makes no context.

    A test that records a metric of the same name itself knows better: then only its own is kept.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._compiling = CompileTimes()
        self._memory = PeakMemory()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Begin to follow the compilers."""
        if runs_tests(self._config):
            self._compiling.install()
            self._config.add_cleanup(self._compiling.uninstall)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """No test is left."""
        self._compiling.uninstall()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        """Each attempt of a test begins anew."""
        item.stash[_MEASURED] = ()
        recorded_metrics(item).begin()
        with self._guarded(COMPILE_TIME):
            self._compiling.start()
        with self._guarded(MEMORY):
            self._memory.start()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Read what setup and call took, while what they hold is still there."""
        try:
            return (yield)
        finally:
            item.stash[_MEASURED] = self._measured()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Only now is it known which metrics the test has recorded itself."""
        try:
            return (yield)
        finally:
            recorded_metrics(item).add_missing(item.stash.get(_MEASURED, ()))

    def _measured(self) -> list[Metric]:
        metrics = []
        with self._guarded(MEMORY):
            if peak := self._memory.stop():
                metrics.append(Metric(name=MEMORY, value=float(peak), unit="B"))
        with self._guarded(COMPILE_TIME):
            if seconds := self._compiling.clock.stop():
                metrics.append(Metric(name=COMPILE_TIME, value=seconds, unit="s"))
        return metrics

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        """A failure to measure is a note at the end of the run, and never an error of the test itself."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a test may have replaced any of torch's functions
            problem = f"{name} is not measured in every test: {type(error).__name__}: {str(error)[:200]}"
            problems = self._config.stash.setdefault(NOT_MEASURED, [])
            if problem not in problems and len(problems) < _MOST_PROBLEMS:
                problems.append(problem)


class PeakMemory:
    """The most memory that PyTorch's allocator has given out at one time on any one GPU: what a card must have.

    In bytes, without what the allocator keeps in reserve and the CUDA context. What a test found allocated counts;
    a test that allocates nothing more has no peak of its own. A test that sets the peak back measures from there on,
    and so does one whose fixture does; a measurement over several tests is set back by this one.
    """

    def __init__(self) -> None:
        self._found: dict[int, int] = {}  # bytes that were allocated when the test began, by GPU

    def start(self) -> None:
        """Set the peak of each GPU back to what is allocated now."""
        self._found = {}
        cuda = _allocating()
        for device in range(cuda.device_count() if cuda is not None else 0):
            cuda.reset_peak_memory_stats(device)
            self._found[device] = cuda.memory_allocated(device)

    def stop(self) -> int | None:
        """The peak since ``start``, or since the test made CUDA's context. None where nothing was allocated."""
        cuda = _allocating()
        devices = range(cuda.device_count() if cuda is not None else 0)
        peaks = {device: int(cuda.max_memory_allocated(device)) for device in devices}
        return max((peak for device, peak in peaks.items() if peak > self._found.get(device, 0)), default=None)


def _allocating() -> Any:
    """``torch.cuda``, if it is in use with PyTorch's own allocator: another keeps no such statistics, or asks CUDA."""
    if not cuda_in_use():
        return None
    cuda = sys.modules["torch"].cuda
    return cuda if cuda.get_allocator_backend() == "native" else None
