"""The GPU of this process poses as another, from before the code under test is imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.emulation.cuda_core_posing import CudaCorePosing
from pytest_gpumatrix.portability.emulation.refusing import Refusing
from pytest_gpumatrix.portability.emulation.torch_posing import TorchPosing
from pytest_gpumatrix.portability.emulation.triton_posing import TritonPosing
from pytest_gpumatrix.portability.patching.import_watcher import ImportWatcher
from pytest_gpumatrix.portability.patching.patches import Patches


class Posing:
    """Neither torch, triton nor cuda.core is imported, and CUDA is not begun: they are posed when others do so."""

    def __init__(self, profile: Profile) -> None:
        self._patches = Patches()
        self._torch = TorchPosing(profile, self._patches)
        self._refusing = Refusing(profile.capability)
        followers = (
            self._torch,
            self._refusing,
            TritonPosing(profile, self._patches),
            CudaCorePosing(profile, self._patches),
        )
        self._watcher = ImportWatcher({name: see for follower in followers for name, see in follower.modules.items()})

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the device could not be posed in this process."""
        return self._torch.notes + self._refusing.notes

    def begin(self) -> None:
        """From here on code sees the device."""
        self._watcher.install()

    def end(self) -> None:
        """Put everything back, also what a begin that failed had done: code sees the card that is here again."""
        with ExitStack() as undo:  # the last one first, and each of them even where one before it fails
            undo.callback(self._patches.undo)
            undo.callback(self._refusing.undo)
            undo.callback(self._torch.undo)
            undo.callback(self._watcher.uninstall)


@contextmanager
def posing(profile: Profile) -> Iterator[Posing]:
    """The GPU poses as the device in this context.

    Kernels that were compiled before it are not compiled again, and what is compiled in it is kept: a process that
    is to judge a device poses from its beginning, with folders of its own for the caches of Triton and Inductor.
    """
    pose = Posing(profile)
    try:
        pose.begin()
        yield pose
    finally:
        pose.end()
