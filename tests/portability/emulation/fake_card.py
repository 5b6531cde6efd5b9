"""An H200 under PyTorch's CPU build: what its Python asks of C++ about a GPU, answered as C++ would. No kernel runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

TOTAL = 150_109_880_320  # bytes; as PyTorch 2.11 tells of an H200
FREE = 149_205_155_840


class Properties:
    """As ``torch._C._CudaDeviceProperties``: read-only, and with nothing but its properties."""

    __slots__ = ()
    name = "NVIDIA H200"
    gcnArchName = "NVIDIA H200"  # noqa: N815 - PyTorch's name
    major, minor = 9, 0
    total_memory = TOTAL
    multi_processor_count = 132
    shared_memory_per_block = 49_152
    shared_memory_per_block_optin = 232_448
    shared_memory_per_multiprocessor = 233_472
    regs_per_multiprocessor = 65_536
    max_threads_per_block = 1_024
    max_threads_per_multi_processor = 2_048
    warp_size = 32
    L2_cache_size = 62_914_560


class FakeCard:
    """``count`` of them. What was set for each GPU's allocator is in ``fractions``."""

    def __init__(self, count: int = 1, archs: str = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120") -> None:
        self.count, self.archs = count, archs
        self.fractions: dict[int, float] = {}
        self.reserved = 0
        self.free = FREE
        self.broken = False  # as a kernel that faults leaves it

    def _ask(self) -> None:
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")

    def _set_fraction(self, fraction: float, device: int) -> None:
        self._ask()
        self.fractions[device] = fraction

    def install(self, torch: Any, monkeypatch: pytest.MonkeyPatch, queue: Sequence[Any] = ()) -> None:
        """Before CUDA begins; ``queue`` is what is to be done then. Whether it has begun is put back."""
        cuda = torch.cuda

        def begin() -> None:
            monkeypatch.setattr(cuda, "_get_device_properties", lambda _: Properties(), raising=False)

        def memory_info(_: int) -> tuple[int, int]:
            cuda.init()
            return self.free, TOTAL

        core = {
            "_cuda_getDeviceCount": lambda: self.count,
            "_cuda_getDevice": lambda: 0,
            "_cuda_init": begin,
            "_cuda_isInBadFork": lambda: False,
            "_cuda_getArchFlags": lambda: self.archs,
            "_cuda_emptyCache": self._ask,
            "_cuda_setMemoryFraction": self._set_fraction,
            "_cuda_getMemoryFraction": lambda device: self.fractions.get(device, 1.0),
            "_accelerator_getMemoryInfo": memory_info,
            "_accelerator_getDeviceIndex": lambda: 0,
            "_cuda_memoryStats": lambda _: {"reserved_bytes": {"all": {"current": self.reserved}}},
        }
        for name, function in core.items():
            monkeypatch.setattr(torch._C, name, function, raising=False)
        monkeypatch.setattr(cuda, "_cudart", SimpleNamespace(cudaMemGetInfo=lambda _: (self.free, TOTAL)))
        monkeypatch.setattr(cuda, "_queued_calls", list(queue))
        monkeypatch.setattr(cuda, "_initialized", False)
        monkeypatch.setattr(cuda, "_cached_device_count", None)
