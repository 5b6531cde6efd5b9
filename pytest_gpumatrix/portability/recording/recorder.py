"""Records what a test launches, while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.patching.import_watcher import ImportWatcher
from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.recording.cuda_core_recording import CudaRecording
from pytest_gpumatrix.portability.recording.triton_recording import TritonRecording
from pytest_gpumatrix.portability.tape.launch import Alternative, Kernel, Launch, Problem, digest


class Recorder:
    """Sees Triton's launches, native and interpreted, and cuda-core's compilations and launches.

    ``write`` takes each Launch once per test and specialisation, and each Problem; a TapeWriter's ``write`` will do.
    Neither triton nor cuda.core is imported: they are followed when somebody else does, before or after
    ``install``. Between ``during``s nothing is recorded. Not seen: kernels that torch.compile generates.
    """

    def __init__(
        self, write: Callable[[Launch | Problem], None], *, rootdir: Path, capability: ComputeCapability | None = None
    ) -> None:
        self._write = write
        self._lock = threading.Lock()  # autograd launches from threads of its own
        self._seen: set[tuple[str, bool, Alternative | None]] = set()
        self._problems: list[Problem] = []
        self._aside: list[Launch | Problem] | None = None
        self._patches = Patches()
        self.test: str | None = None
        self.seen_objects: dict[object, object] = {}  # of this test: cheap keys of launches that were recorded
        self._triton = TritonRecording(self, rootdir, self._patches)
        self._cuda = CudaRecording(self, capability, self._patches)
        self._watcher = ImportWatcher({**self._triton.modules, **self._cuda.modules})

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be recorded, in all tests so far."""
        return tuple(self._problems)

    def install(self) -> None:
        """Begin to follow the launches of this process."""
        self._watcher.install()

    def uninstall(self) -> None:
        """Put everything back as it was."""
        self._watcher.uninstall()
        self._patches.undo()

    @contextmanager
    def during(self, test: str) -> Iterator[None]:
        """Launches in this context belong to the test: its setup, call and teardown."""
        self._seen.clear()
        self.seen_objects.clear()
        self.test = test
        try:
            yield
        finally:
            self.test = None
            self.seen_objects.clear()

    @contextmanager
    def aside(self) -> Iterator[list[Launch | Problem]]:
        """Launches in this context belong to no test yet: they are in the list, for ``adopt``. May be nested."""
        before = self._aside, self.test, self._seen, self.seen_objects, self._problems
        lines: list[Launch | Problem] = []
        self._aside, self.test, self._seen, self.seen_objects, self._problems = lines, "", set(), {}, []
        try:
            yield lines
        finally:
            self._aside, self.test, self._seen, self.seen_objects, self._problems = before

    def adopt(self, lines: Iterable[Launch | Problem]) -> None:
        """Launches that were set aside are the running test's as well, or those of the outer ``aside``."""
        for line in lines:
            if isinstance(line, Launch):
                self.note(line.kernel, line.grid, raised=line.raised, alternative=line.alternative)
            else:
                self.note_problem(line.message)

    def note_problem(self, message: str) -> None:
        """Something of the running test could not be recorded."""
        problem = Problem(test=self.test or "", message=message)
        with self._lock:
            if problem not in self._problems:
                self._problems.append(problem)
                with suppress(OSError):  # it could not be written down: closing the tape says so
                    self._put(problem)

    def note(
        self, kernel: Kernel, grid: Any = None, *, raised: bool = False, alternative: Alternative | None = None
    ) -> None:
        """A launch of the running test; the first of its kind is written."""
        shape = grid if isinstance(grid, tuple) and all(type(size) is int for size in grid) else None
        key = (digest(kernel), raised, alternative)
        with self._lock:
            if self.test is None or key in self._seen:
                return
            self._seen.add(key)
            self._put(Launch(test=self.test, kernel=kernel, grid=shape, raised=raised, alternative=alternative))

    def note_alternatives(self, kernels: Iterable[tuple[Kernel, bool]]) -> None:
        """The configurations of one autotuned launch, each with whether the tuner's pruning kept it."""
        kernels = list(kernels)
        group = digest(sorted(digest(kernel) for kernel, _ in kernels))
        for kernel, kept in kernels:
            self.note(kernel, alternative=Alternative(group=group, kept=kept))

    @contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """A failure to record is a problem of the running test, and never an error of the test itself."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the user's test must go on, and it is reported
            self.note_problem(f"{what}: {type(error).__name__}: {error}")

    def _put(self, line: Launch | Problem) -> None:
        if self._aside is not None:
            self._aside.append(line)
        else:
            self._write(line)
