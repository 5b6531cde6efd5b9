"""cuda-core's answers about the GPU for the posed device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.emulation.callers import real_card_is_asked_for
from pytest_gpumatrix.portability.emulation.properties import cuda_name
from pytest_gpumatrix.portability.patching.patches import Patches


class CudaCorePosing:
    """``cuda.core.Device`` as code asks it. A program for the posed device is compiled for the card by the recorder."""

    def __init__(self, profile: Profile, patches: Patches) -> None:
        self._capability = profile.capability
        self._name = cuda_name(profile)
        limits = profile.limits
        self._values = {
            "compute_capability_major": limits.capability.major,
            "compute_capability_minor": limits.capability.minor,
            "max_shared_memory_per_block_optin": limits.shared_memory_per_block,
            "max_shared_memory_per_multiprocessor": limits.shared_memory_per_sm,
            "max_registers_per_block": limits.registers_per_block,
            "max_registers_per_multiprocessor": limits.registers_per_sm,
            "max_threads_per_block": limits.threads_per_block,
            "max_threads_per_multiprocessor": limits.threads_per_sm,
            "max_blocks_per_multiprocessor": limits.blocks_per_sm,
            **({"multiprocessor_count": profile.sm_count} if profile.sm_count is not None else {}),
        }
        self._patches = patches
        self._followed: set[type] = set()  # both modules define the one class, where both are there
        self.modules: Mapping[str, Callable[[ModuleType], None]] = dict.fromkeys(
            ("cuda.core", "cuda.core.experimental"), self._follow
        )

    def _follow(self, module: ModuleType) -> None:
        if module.Device in self._followed:
            return
        self._followed.add(module.Device)
        self._pose(module.Device, "compute_capability", lambda real: type(real)(*self._pair))
        self._pose(module.Device, "name", lambda _: self._name)
        self._pose(module.Device, "properties", lambda real: _Properties(real, self._values))

    @property
    def _pair(self) -> tuple[int, int]:
        return self._capability.major, self._capability.minor

    def _pose(self, owner: Any, name: str, tell: Callable[[Any], Any]) -> None:
        def make(original: property) -> property:
            def ask(device: Any) -> Any:
                real = original.__get__(device)
                return real if not self._patches.active or real_card_is_asked_for() else tell(real)

            return property(ask)

        self._patches.replace(owner, name, make)


class _Properties:
    """The card's, which are asked for one by one, and the device's in their place."""

    def __init__(self, real: Any, values: Mapping[str, int]) -> None:
        self._real, self._values = real, values

    def __getattr__(self, name: str) -> Any:
        return self._values[name] if name in self._values else getattr(self._real, name)
