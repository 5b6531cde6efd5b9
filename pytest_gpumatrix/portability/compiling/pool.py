"""Jobs done by several compiling processes, which are replaced when a compiler takes one down."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable

from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Job
from pytest_gpumatrix.portability.compiling.compiling_process import CompilingProcess


def run_jobs(
    jobs: Iterable[Job], *, processes: int, start: Callable[[], CompilingProcess], budget_seconds: float
) -> Generator[tuple[Job, Compiled], None, None]:
    """Do the jobs in parallel; yields each as it ends. When the budget is used up the rest is not yielded.

    A job is taken from ``jobs`` (in a thread of the pool, one at a time) when a process is free for it and the results
    are wanted, so that there may be any number of them. A process is started when there is a job for it. To close the
    generator ends all of them.
    """
    deadline = time.monotonic() + budget_seconds
    waiting = _Waiting(jobs)
    results: _Results = queue.Queue(maxsize=processes)
    crew = [_Runner(waiting, start) for _ in range(processes)]
    working = len(crew)
    try:
        for runner in crew:
            runner.begin(results)
        while working:
            left = min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)
            try:
                result = results.get(timeout=left)
            except queue.Empty:
                return
            if isinstance(result, BaseException):
                raise result
            if result is None:
                working -= 1
            else:
                yield result
    finally:
        for runner in crew:
            runner.stop()


_Results = queue.Queue[tuple[Job, Compiled] | BaseException | None]  # None: a thread has ended


class _Waiting:
    """The jobs that no process has taken yet."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = iter(jobs)
        self._lock = threading.Lock()

    def take(self) -> Job | None:
        """The next one, or None if there is none left."""
        with self._lock:
            return next(self._jobs, None)


class _Runner:
    """A thread that feeds one process at a time."""

    def __init__(self, waiting: _Waiting, start: Callable[[], CompilingProcess]) -> None:
        self._waiting, self._start = waiting, start
        self._lock = threading.Lock()
        self._process: CompilingProcess | None = None
        self._stopped = False
        self._thread: threading.Thread | None = None

    def begin(self, results: _Results) -> None:
        """Start the thread. It puts each result, and at its end None or what went wrong."""
        self._thread = threading.Thread(target=self._run, args=(results,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the process, and with it the thread."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.stop()
        if self._thread is not None:
            self._thread.join()
        if self._process is not None:
            self._process.close()

    def _run(self, results: _Results) -> None:
        try:
            while not self._stopped and (job := self._waiting.take()) is not None:
                if (process := self._ready()) is None:
                    break
                self._put((job, process.ask(job)), results)
            self._put(None, results)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._put(error, results)

    def _put(self, result: tuple[Job, Compiled] | BaseException | None, results: _Results) -> None:
        """Wait until the result is wanted, or none is any more."""
        while not self._stopped:
            try:
                results.put(result, timeout=0.1)
            except queue.Full:
                continue
            return

    def _ready(self) -> CompilingProcess | None:
        with self._lock:
            if self._stopped:
                return None
            if self._process is not None and not self._process.alive:
                self._process.close()
                self._process = None
            if self._process is None:
                self._process = self._start()
            return self._process
