"""The state of a GPU over a stand-in for ``pynvml``, with NVML's own error classes."""
# ruff: noqa: N802, ARG002 - the names and arguments are NVML's

from __future__ import annotations

import sys
import threading
from types import ModuleType, SimpleNamespace

import pynvml
import pytest

from pytest_gpumatrix.hardware.gpu_state import GpuProcess, GpuState, Silence, read_state
from tests.hardware.nvml_stand_in import NvmlStandIn

GIB = 2**30
NOT_SUPPORTED = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


class FakeNvml(NvmlStandIn):
    """One GPU. What is in ``fail`` raises."""

    nvmlMemory_v2 = pynvml.nvmlMemory_v2  # noqa: N815

    def __init__(self, **fail: Exception) -> None:
        super().__init__(fail)
        self.computing = [SimpleNamespace(pid=11, usedGpuMemory=3 * GIB), SimpleNamespace(pid=12, usedGpuMemory=GIB)]
        self.drawing = [SimpleNamespace(pid=12, usedGpuMemory=GIB), SimpleNamespace(pid=13, usedGpuMemory=None)]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        self._may_fail("nvmlDeviceGetHandleByUUID")
        return uuid

    def nvmlDeviceGetMemoryInfo(self, handle: str, version: int | None = None) -> SimpleNamespace:
        if version is None:
            return SimpleNamespace(total=24 * GIB, free=19 * GIB, used=5 * GIB)
        self._may_fail("nvmlDeviceGetMemoryInfo_v2")
        return SimpleNamespace(total=24 * GIB, free=19 * GIB, used=4 * GIB, reserved=GIB)

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        self._may_fail("nvmlSystemGetCudaDriverVersion")
        return 12080

    def nvmlDeviceGetDisplayActive(self, handle: str) -> int:
        self._may_fail("nvmlDeviceGetDisplayActive")
        return int(pynvml.NVML_FEATURE_ENABLED)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[SimpleNamespace]:
        self._may_fail("nvmlDeviceGetComputeRunningProcesses")
        return self.computing

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: str) -> list[SimpleNamespace]:
        return self.drawing


def state(monkeypatch: pytest.MonkeyPatch, nvml: ModuleType) -> GpuState | str:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return read_state("GPU-1")


def test_what_nvml_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml()
    assert state(monkeypatch, nvml) == GpuState(
        total=24 * GIB,
        free=19 * GIB,
        used=4 * GIB,
        processes=(
            GpuProcess(pid=11, memory=3 * GIB),
            GpuProcess(pid=12, memory=GIB),
            GpuProcess(pid=13, memory=None),
        ),
        display=True,
        cuda_driver_version="12.8",
    )
    assert nvml.open == 0


def test_what_a_card_or_driver_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml(
        nvmlDeviceGetMemoryInfo_v2=pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND),
        nvmlSystemGetCudaDriverVersion=NOT_SUPPORTED,
        nvmlDeviceGetDisplayActive=NOT_SUPPORTED,
        nvmlDeviceGetComputeRunningProcesses=pynvml.NVMLError(pynvml.NVML_ERROR_NO_PERMISSION),
    )
    assert state(monkeypatch, nvml) == GpuState(total=24 * GIB, free=19 * GIB)


@pytest.mark.parametrize(
    ("call", "code", "reason"),
    [
        ("nvmlInit", pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "no NVIDIA driver answers: Driver Not Loaded"),
        ("nvmlDeviceGetHandleByUUID", pynvml.NVML_ERROR_GPU_IS_LOST, "NVML does not read GPU-1: GPU is lost"),
    ],
)
def test_a_gpu_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, call: str, code: int, reason: str) -> None:
    nvml = FakeNvml(**{call: pynvml.NVMLError(code)})
    assert state(monkeypatch, nvml) == reason
    assert nvml.open == 0


def test_a_driver_that_hangs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml, released = FakeNvml(), threading.Event()
    monkeypatch.setattr(nvml, "nvmlDeviceGetHandleByUUID", lambda _: released.wait(60))
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    state = read_state("GPU-1", patience=0.01)
    released.set()
    assert isinstance(state, Silence)
    assert state == "NVML has not answered for GPU-1 in 0.01 s"


def test_a_mistake_of_ours_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(nvmlDeviceGetHandleByUUID=AttributeError("no such call")))
    with pytest.raises(AttributeError, match="no such call"):
        read_state("GPU-1")


def processes(*pairs: tuple[int, int | None]) -> tuple[GpuProcess, ...]:
    return tuple(GpuProcess(pid=pid, memory=memory) for pid, memory in pairs)


@pytest.mark.parametrize(
    ("used", "listed", "in_use", "renumbered", "others"),
    [
        # Before any CUDA context of our own, all that is used is others'.
        (4, processes((1, 3)), False, False, 4),
        (4, None, False, True, 4),
        (None, processes((1, 3), (2, 1)), False, False, 4),
        (None, None, False, False, None),
        # With a context, this process (7) is in the list, under its number.
        (9, processes((7, 5), (1, 3), (2, 1)), True, False, 4),
        (9, processes((7, 9)), True, False, 0),
        # A container lists it under another number, or not at all: 9 may be all our own.
        (9, processes((70, 5), (1, 4)), True, True, None),
        (9, (), True, True, None),
        (9, processes((7, 5), (1, 4)), True, True, 4),  # a container that shares the host's numbers
        # Without one, what is not listed under our number is not ours.
        (9, processes((1, 9)), True, False, 9),
        # The driver of Windows names processes, not their memory.
        (9, processes((7, None), (1, None)), True, False, None),
    ],
)
def test_what_other_processes_hold(
    used: int | None,
    listed: tuple[GpuProcess, ...] | None,
    in_use: bool,
    renumbered: bool,
    others: int | None,
) -> None:
    seen = GpuState(total=24, free=24 - (used or 0), used=used, processes=listed)
    assert seen.held_by_others(7, in_use=in_use, renumbered=renumbered) == others
