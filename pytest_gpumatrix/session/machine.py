"""What this process has to run tests on, found out once and when first asked."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from pytest_gpumatrix.hardware.detection import Detection, detect
from pytest_gpumatrix.hardware.gpu_state import GpuState, read_state


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """The GPUs of this process, and whether its Triton kernels run by the interpreter."""

    detection: Detection
    interpreting: bool

    @property
    def why_no_gpu(self) -> str:
        """The reason, where there is no GPU."""
        return self.detection.reason or "no GPU was found"


_MACHINE = pytest.StashKey[Machine]()
_AT_START = pytest.StashKey[GpuState]()


def machine_of(config: pytest.Config) -> Machine:
    """The machine; asks NVML the first time."""
    machine = config.stash.get(_MACHINE, None)
    if machine is None:
        detection = detect(os.environ)
        interpreting = bool(config.getini("gpu_interpret")) and not detection.gpus
        machine = config.stash[_MACHINE] = Machine(detection=detection, interpreting=interpreting)
    return machine


def note_gpu_at_start(config: pytest.Config) -> None:
    """Read the state of the GPU that tests begin on, before any of them runs."""
    gpus = machine_of(config).detection.gpus
    state = read_state(gpus[0].uuid) if gpus else None
    if isinstance(state, GpuState):
        config.stash[_AT_START] = state


def gpu_at_start(config: pytest.Config) -> GpuState | None:
    """The GPU as it was before any test; None where there is none, it did not tell, or --gpu-matrix was not given."""
    return config.stash.get(_AT_START, None)


def worker_id(config: pytest.Config) -> str | None:
    """The xdist worker's name, "gw0", or None outside of workers."""
    workerinput = getattr(config, "workerinput", None)
    return None if workerinput is None else str(workerinput["workerid"])


def runs_tests(config: pytest.Config) -> bool:
    """Whether this session runs its tests, and does not only list them, their fixtures or their setup."""
    listing = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")
    return not any(getattr(config.option, name, False) for name in listing)
