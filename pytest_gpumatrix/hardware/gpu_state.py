"""How much of a GPU is in use at this moment, and by whom. By NVML: no CUDA context, never an exception."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout  # the built-in one only from Python 3.11 on
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_gpumatrix.hardware import nvml

_Answer = TypeVar("_Answer")
PATIENCE = 10.0  # seconds; to start NVML takes up to two on a machine of many GPUs without persistence mode


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuProcess:
    """A process that holds memory of a GPU."""

    pid: int  # as the driver numbers it: in a container that may be the host's number, or the list may be empty
    memory: int | None  # bytes; None where the driver does not tell (Windows)


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuState:
    """A GPU, or a MIG instance, at one moment. None is what the driver or the card does not tell."""

    total: int  # bytes
    free: int  # bytes
    used: int | None = None  # bytes that processes hold, without what the driver keeps for itself
    processes: tuple[GpuProcess, ...] | None = None
    display: bool | None = None  # a display is attached: the driver's watchdog ends kernels that take seconds
    cuda_driver_version: str | None = None  # the newest CUDA that the driver knows: "13.0"

    def held_by_others(self, own: int, *, in_use: bool, renumbered: bool) -> int | None:
        """Bytes that other processes than ``own`` hold; None where it cannot be told.

        ``in_use``: ``own`` may hold some itself. ``renumbered``: it is in a container, which has numbers of its own
        for processes: if the driver does not list it, what others hold cannot be told from what it holds.
        """
        if not in_use and self.used is not None:
            return self.used
        listed = self.processes is not None and any(process.pid == own for process in self.processes)
        if self.processes is None or (in_use and renumbered and not listed):
            return None
        others = [process.memory for process in self.processes if process.pid != own]
        return None if None in others else sum(memory or 0 for memory in others)


class Silence(str):
    """The reason why nothing is known: NVML hangs. Whoever asks again waits again."""

    __slots__ = ()


def read_state(uuid: str, patience: float = PATIENCE) -> GpuState | str:
    """The state of the GPU or MIG instance of that UUID; or the reason why NVML does not tell.

    A driver in trouble may never answer, and a failing test must not hang for it: after so many seconds it is left
    alone, in a thread that nothing waits for.
    """
    answer: Future[GpuState | str] = Future()

    def ask() -> None:
        try:
            answer.set_result(
                nvml.ask(lambda library: _state(library, library.nvmlDeviceGetHandleByUUID(uuid)), f"read {uuid}")
            )
        except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that asked
            answer.set_exception(error)

    threading.Thread(target=ask, name="gpumatrix-nvml", daemon=True).start()
    try:
        return answer.result(patience)
    except FutureTimeout:
        return Silence(f"NVML has not answered for {uuid} in {patience:g} s")


def _state(library: Any, handle: Any) -> GpuState:
    memory = library.nvmlDeviceGetMemoryInfo(handle)
    version = _told(library, library.nvmlSystemGetCudaDriverVersion)
    display = _told(library, lambda: library.nvmlDeviceGetDisplayActive(handle))
    # What the first form calls used has the driver's own share in it.
    exact = _told(library, lambda: library.nvmlDeviceGetMemoryInfo(handle, library.nvmlMemory_v2))
    return GpuState(
        total=memory.total,
        free=memory.free,
        used=exact.used if exact is not None else None,
        processes=_told(library, lambda: _processes(library, handle)),
        display=None if display is None else bool(display),
        cuda_driver_version=None if version is None else f"{version // 1000}.{version % 1000 // 10}",
    )


def _processes(library: Any, handle: Any) -> tuple[GpuProcess, ...]:
    """Those that compute and those that draw; one may do both, and is listed with the same memory by both."""
    listed = [
        *library.nvmlDeviceGetComputeRunningProcesses(handle),
        *library.nvmlDeviceGetGraphicsRunningProcesses(handle),
    ]
    return tuple(
        GpuProcess(pid=pid, memory=memory)
        for pid, memory in {process.pid: process.usedGpuMemory for process in listed}.items()
    )


def _told(library: Any, question: Callable[[], _Answer]) -> _Answer | None:
    """An answer that some cards, drivers and virtual machines do not give."""
    try:
        return question()
    except library.NVMLError:
        return None
