"""Triton's answers about the GPU for the posed device: to kernels and the code around them, not to its compiler."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.portability.emulation.callers import real_card_is_asked_for
from pytest_gpumatrix.portability.emulation.properties import triton_values
from pytest_gpumatrix.portability.patching.patches import Patches


class TritonPosing:
    """``triton.runtime.driver.active`` as code asks it, in triton 3.4 to 3.7: the target, and the properties."""

    def __init__(self, profile: Profile, patches: Patches) -> None:
        self._arch = profile.capability.major * 10 + profile.capability.minor
        self._values = triton_values(profile)
        self._patches = patches
        self.modules: Mapping[str, Callable[[ModuleType], None]] = {"triton.backends.nvidia.driver": self._follow}

    def _follow(self, module: ModuleType) -> None:
        self._patches.replace(module.CudaDriver, "get_current_target", self._posed_target)
        self._patches.replace(module.CudaUtils, "__init__", self._posing_init)
        if (instance := vars(module.CudaUtils).get("instance")) is not None:  # there is one for all
            self._pose(instance)

    def _posed_target(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def get_current_target(driver: Any) -> Any:
            target = original(driver)
            if not self._patches.active or real_card_is_asked_for():
                return target
            return dataclasses.replace(target, arch=self._arch)

        return get_current_target

    def _posing_init(self, original: Callable[..., None]) -> Callable[..., None]:
        def __init__(utils: Any) -> None:  # noqa: N807 - it stands in the place of one
            original(utils)
            if self._patches.active:
                self._pose(utils)

        return __init__

    def _pose(self, utils: Any) -> None:
        self._patches.replace(utils, "get_device_properties", self._posed_properties)

    def _posed_properties(self, original: Callable[[int], dict[str, Any]]) -> Callable[[int], dict[str, Any]]:
        def get_device_properties(device: int) -> dict[str, Any]:
            real = original(device)
            if not self._patches.active or real_card_is_asked_for():
                return real
            return real | {name: value for name, value in self._values.items() if name in real}

        return get_device_properties
