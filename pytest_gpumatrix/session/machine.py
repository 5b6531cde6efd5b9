"""What this process has to run tests on, found out once and when first asked."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from pytest_gpumatrix.hardware.detection import Detection, detect


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


def machine_of(config: pytest.Config) -> Machine:
    """The machine; asks NVML the first time."""
    machine = config.stash.get(_MACHINE, None)
    if machine is None:
        detection = detect(os.environ)
        interpreting = bool(config.getini("gpu_interpret")) and not detection.gpus
        machine = config.stash[_MACHINE] = Machine(detection=detection, interpreting=interpreting)
    return machine


def worker_id(config: pytest.Config) -> str | None:
    """The xdist worker's name, "gw0", or None outside of workers."""
    workerinput = getattr(config, "workerinput", None)
    return None if workerinput is None else str(workerinput["workerid"])


def runs_tests(config: pytest.Config) -> bool:
    """Whether this session runs its tests, and does not only list them, their fixtures or their setup."""
    listing = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")
    return not any(getattr(config.option, name, False) for name in listing)
