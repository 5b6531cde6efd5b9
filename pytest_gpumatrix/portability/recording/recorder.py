"""Records what a test launches, while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import LARGEST_GRID
from pytest_gpumatrix.portability.patching.import_watcher import ImportWatcher
from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.recording.cuda_core_recording import CudaRecording
from pytest_gpumatrix.portability.recording.cupy_recording import CupyRecording
from pytest_gpumatrix.portability.recording.graph_recording import GraphRecording
from pytest_gpumatrix.portability.recording.inductor_recording import InductorRecording
from pytest_gpumatrix.portability.recording.running_gpu import RunningGpu
from pytest_gpumatrix.portability.recording.torch_cuda_recording import TorchCudaRecording
from pytest_gpumatrix.portability.recording.triton_recording import TritonRecording
from pytest_gpumatrix.portability.tape.launch import Alternative, Kernel, Launch, Problem, digest


class Recorder:
    """Sees launches of Triton (native and interpreted), torch.compile, cuda-core, PyTorch's NVRTC, and CuPy.

    ``write`` takes each Launch once per test and specialisation, and each Problem; a TapeWriter's ``write`` will do.
    None of these packages is imported: they are followed when somebody else does, before or after
    ``install``. ``capability`` is that of the GPU here; ``posed`` is what the tests are told instead: programs for
    it are compiled for the GPU here, and are on the tape as they were asked for. Between ``during``s nothing is
    recorded, but for CUDA graphs: what is captured is the launch of each test that replays it.
    """

    def __init__(
        self,
        write: Callable[[Launch | Problem], None],
        *,
        rootdir: Path,
        capability: ComputeCapability | None = None,
        posed: ComputeCapability | None = None,
    ) -> None:
        self._write = write
        self._lock = threading.Lock()  # autograd launches from threads of its own
        self._seen: set[tuple[str, bool, Alternative | None, tuple[bool, ...]]] = set()
        self._problems: list[Problem] = []
        self._aside: list[Launch | Problem] | None = None
        self._captures: list[list[Launch | Problem]] = []
        self._patches = Patches()
        self.test: str | None = None
        self.active = False  # whether a launch is to be recorded: asked at every launch
        self.seen_objects: dict[object, object] = {}  # of this test: cheap keys of launches that were recorded
        gpu = RunningGpu(capability=capability, posed=posed)
        followers = (
            TritonRecording(self, rootdir, self._patches),
            InductorRecording(self, self._patches),
            GraphRecording(self, self._patches),
            CudaRecording(self, gpu, self._patches),
            TorchCudaRecording(self, gpu, self._patches),
            CupyRecording(self, self._patches),
        )
        self._unfollowed: list[str] = []  # packages that are not as they were when this was written
        self._watcher = ImportWatcher(
            {name: self._safely(name, see) for follower in followers for name, see in follower.modules.items()}
        )

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
        self._set_test(test)
        for message in self._unfollowed:
            self.note_problem(message)
        try:
            yield
        finally:
            self._set_test(None)
            self.seen_objects.clear()

    @contextmanager
    def aside(self) -> Iterator[list[Launch | Problem]]:
        """Launches in this context belong to no test yet: they are in the list, for ``adopt``. May be nested."""
        before = self._aside, self.test, self._seen, self.seen_objects, self._problems
        lines: list[Launch | Problem] = []
        self._aside, self.test, self._seen, self.seen_objects, self._problems = lines, "", set(), {}, []
        self._set_test("")
        try:
            yield lines
        finally:
            self._aside, self.test, self._seen, self.seen_objects, self._problems = before
            self._set_test(self.test)

    def begin_capture(self) -> list[Launch | Problem]:
        """From here to ``end_capture`` of the list, launches are in it too, also those that the test made before."""
        lines: list[Launch | Problem] = []
        self._captures.append(lines)
        self.seen_objects = {}  # it tells what the test has, not what the list has
        self._set_test(self.test)
        return lines

    def end_capture(self, lines: list[Launch | Problem]) -> None:
        """The list is whole."""
        self._captures = [others for others in self._captures if others is not lines]
        self.seen_objects = {}  # it may be another test's than the one that was running at the beginning
        self._set_test(self.test)

    def _safely(self, name: str, see: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        """Importing a package must not fail for it; what is then not seen is a problem of every test."""

        def follow(module: ModuleType) -> None:
            try:
                see(module)
            except Exception as error:  # noqa: BLE001 - another release of it may differ in anything
                self._unfollowed.append(f"launches through {name} are not seen: {type(error).__name__}: {error}")

        return follow

    def _set_test(self, test: str | None) -> None:
        self.test = test
        self.active = test is not None or bool(self._captures)

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
            for lines in self._captures:
                lines.append(problem)
            if self.test is not None and problem not in self._problems:
                self._problems.append(problem)
                with suppress(OSError):  # it could not be written down: closing the tape says so
                    self._put(problem)

    def note(
        self, kernel: Kernel, grid: Any = None, *, raised: bool = False, alternative: Alternative | None = None
    ) -> None:
        """A launch of the running test; the first of its kind is written."""
        shape = grid if isinstance(grid, tuple) and all(type(size) is int for size in grid) else None
        # An interpreter runs grids that no GPU does, and one may follow another that fits.
        too_large = tuple(size > most for size, most in zip(shape or (), LARGEST_GRID, strict=False))
        key = (digest(kernel), raised, alternative, too_large if any(too_large) else ())
        with self._lock:
            for lines in self._captures:
                lines.append(Launch(test="", kernel=kernel, grid=shape, raised=raised, alternative=alternative))
            if self.test is None or key in self._seen:
                return
            self._seen.add(key)
            self._put(Launch(test=self.test, kernel=kernel, grid=shape, raised=raised, alternative=alternative))

    def note_alternatives(
        self, kernels: Iterable[tuple[Kernel, bool]], *, raised: bool = False, open_to_more: bool = False
    ) -> None:
        """The configurations of one autotuned launch, each with whether the tuner's pruning kept it.

        ``open_to_more``: the tuner of another device would have others too.
        """
        kernels = list(kernels)
        group = digest(sorted(digest(kernel) for kernel, _ in kernels))
        for kernel, kept in kernels:
            self.note(kernel, raised=raised, alternative=Alternative(group=group, kept=kept, open=open_to_more))

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
