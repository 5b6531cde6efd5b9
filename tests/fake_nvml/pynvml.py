"""Stands in for ``pynvml`` in child processes: the GPUs that FAKE_GPUS names, "NVIDIA H200@9.0@143771;...".

Only hardware is faked, at the boundary where it is asked for. What runs behind it is the real plugin.
"""

from __future__ import annotations

import os
from types import SimpleNamespace

NVML_DEVICE_MIG_ENABLE = 1
nvmlMemory_v2 = 0x2000028  # noqa: N816 - the name that NVML gives it


class NVMLError(Exception):
    """The base of NVML's errors."""


class NVMLError_LibraryNotFound(NVMLError):  # noqa: N801, N818 - the name that NVML gives it
    """No driver."""


class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818 - the name that NVML gives it
    """Not on this card."""


class NVMLError_FunctionNotFound(NVMLError):  # noqa: N801, N818 - the name that NVML gives it
    """Not in this driver."""


class NVMLError_NotFound(NVMLError):  # noqa: N801, N818 - the name that NVML gives it
    """No such device."""


def _gpus() -> list[str]:
    return [gpu for gpu in os.environ.get("FAKE_GPUS", "").split(";") if gpu]


def nvmlInit() -> None:  # noqa: N802
    """Fail as on a machine without a driver, if there are no GPUs."""
    if not _gpus():
        raise NVMLError_LibraryNotFound("NVML Shared Library Not Found")


def nvmlShutdown() -> None:  # noqa: N802
    """Nothing to let go of."""


def nvmlSystemGetDriverVersion() -> str:  # noqa: N802
    """A version."""
    return "580.159.04"


def nvmlDeviceGetCount() -> int:  # noqa: N802
    """How many."""
    return len(_gpus())


def nvmlDeviceGetHandleByIndex(index: int) -> int:  # noqa: N802
    """The index is the handle."""
    return index


def nvmlDeviceGetUUID(handle: int) -> str:  # noqa: N802
    """A UUID."""
    return f"GPU-{handle:08d}-0000-0000-0000-000000000000"


def nvmlDeviceGetName(handle: int) -> str:  # noqa: N802
    """The name."""
    return _gpus()[handle].split("@")[0]


def nvmlDeviceGetPciInfo(handle: int) -> SimpleNamespace:  # noqa: N802
    """The place on the bus."""
    return SimpleNamespace(busId=f"00000000:{handle:02d}:00.0")


def nvmlDeviceGetCudaComputeCapability(handle: int) -> list[int]:  # noqa: N802
    """Major and minor."""
    return [int(part) for part in _gpus()[handle].split("@")[1].split(".")]


def nvmlDeviceGetMemoryInfo(handle: int, version: int | None = None) -> SimpleNamespace:  # noqa: N802
    """Memory in bytes; FAKE_GPUS has MiB. Others hold what FAKE_OTHERS says, "pid:MiB pid:MiB"."""
    total, used = int(_gpus()[handle].split("@")[2]) * 2**20, sum(process.usedGpuMemory for process in _others())
    return SimpleNamespace(total=total, free=total - used, used=used)


def _others() -> list[SimpleNamespace]:
    pairs = [other.split(":") for other in os.environ.get("FAKE_OTHERS", "").split()]
    return [SimpleNamespace(pid=int(pid), usedGpuMemory=int(memory) * 2**20) for pid, memory in pairs]


def nvmlDeviceGetComputeRunningProcesses(handle: int) -> list[SimpleNamespace]:  # noqa: N802
    """Who holds memory."""
    return _others()


def nvmlDeviceGetGraphicsRunningProcesses(handle: int) -> list[SimpleNamespace]:  # noqa: N802
    """No display."""
    return []


def nvmlDeviceGetDisplayActive(handle: int) -> int:  # noqa: N802
    """Not told."""
    raise NVMLError_NotSupported("Not Supported")


def nvmlDeviceGetHandleByUUID(uuid: str) -> int:  # noqa: N802
    """The GPU that has it; one that FAKE_LOST names is gone by now."""
    if uuid == os.environ.get("FAKE_LOST"):
        raise NVMLError("GPU is lost")
    return int(uuid.split("-")[1])


def nvmlSystemGetCudaDriverVersion() -> int:  # noqa: N802
    """A version."""
    return 13000


def nvmlDeviceGetMigMode(handle: int) -> list[int]:  # noqa: N802
    """No MIG."""
    raise NVMLError_NotSupported("Not Supported")
