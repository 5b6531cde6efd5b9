"""PyTorch's answers about the GPU, and its memory, for the posed device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.profile import Profile
from pytest_gpumatrix.hardware.sizes import format_size
from pytest_gpumatrix.portability.emulation.callers import real_card_is_asked_for
from pytest_gpumatrix.portability.emulation.memory_budget import MemoryBudget
from pytest_gpumatrix.portability.emulation.properties import PosedProperties, posed, torch_values
from pytest_gpumatrix.portability.patching.patches import Patches


class TorchPosing:
    """Stands where PyTorch's Python asks its C++, so that every public function and every alias of one is posed.

    Most of those functions are there when CUDA begins; it is never begun here. ``torch.cuda.get_device_capability``,
    ``get_device_name``, ``is_bf16_supported`` and the like all ask ``_get_device_properties``; how many GPUs there
    are is CUDA_VISIBLE_DEVICES' to say.
    """

    def __init__(self, profile: Profile, patches: Patches) -> None:
        self._profile = profile
        self._patches = patches
        self._values = torch_values(profile)
        self._budgets: dict[int, MemoryBudget] = {}  # by the GPU's index
        self._fractions: dict[int, float] = {}  # of the card: what was set before
        self._told_fractions: dict[int, float] = {}  # of the device: what code has set
        self._told: dict[int, PosedProperties] = {}  # by the GPU's index: a card has one object, too
        self._set_fraction: Callable[[float, int], None] | None = None  # PyTorch's own, once CUDA has begun
        self._dynamo_constants: set[type] | None = None
        self.notes: tuple[str, ...] = ()
        self.modules: Mapping[str, Callable[[ModuleType], None]] = {
            "torch.cuda": self._follow_cuda,
            "torch._dynamo.utils": self._follow_dynamo,
            "torch.utils._triton": forget_answers,
        }

    def undo(self) -> None:
        """Give the memory back, and forget what was answered. The patches are their owner's to undo."""
        if self._set_fraction is not None:
            for index, fraction in self._fractions.items():
                self._set_fraction(fraction, index)
        if self._dynamo_constants is not None:
            self._dynamo_constants.discard(PosedProperties)
        if (module := sys.modules.get("torch.utils._triton")) is not None:
            forget_answers(module)

    def _follow_cuda(self, cuda: ModuleType) -> None:
        core = sys.modules["torch._C"]
        if hasattr(core, "_accelerator_getMemoryInfo"):  # not in every PyTorch; it begins CUDA itself
            self._patches.replace(core, "_accelerator_getMemoryInfo", self._posed_memory(cuda.memory_reserved))
        cuda._lazy_call(self._begin)

    def _begin(self) -> None:
        """CUDA has just begun; or begins again, as what somebody else had queued for it failed."""
        if not self._patches.active:
            return  # it was undone before
        torch: Any = sys.modules["torch"]
        self._refuse_without_code(torch.cuda.get_arch_list(), torch.__version__)
        if self._set_fraction is None:
            self._limit_memory(torch)
        self._patches.replace(torch.cuda, "_get_device_properties", self._posed_properties)

    def _limit_memory(self, torch: Any) -> None:
        core, cudart = torch._C, torch.cuda.cudart()
        self._budgets = {
            index: MemoryBudget(device=self._profile.memory, card=torch.cuda._get_device_properties(index).total_memory)
            for index in range(torch.cuda.device_count())
        }
        self.notes = tuple(self._short_of_memory(cudart.cudaMemGetInfo))
        told = getattr(core, "_cuda_getMemoryFraction", None)  # not in every PyTorch
        self._fractions = {index: told(index) if told is not None else 1.0 for index in self._budgets}
        self._told_fractions = dict(self._fractions)  # set by the environment, say: the same share of the device
        self._set_fraction = core._cuda_setMemoryFraction
        for index, budget in self._budgets.items():
            core._cuda_setMemoryFraction(budget.fraction_of_card(self._fractions[index]), index)
        self._patches.replace(core, "_cuda_setMemoryFraction", self._posed_set_fraction)
        if told is not None:
            self._patches.replace(core, "_cuda_getMemoryFraction", self._posed_get_fraction)
        self._patches.replace(cudart, "cudaMemGetInfo", self._posed_memory(torch.cuda.memory_reserved))

    def _refuse_without_code(self, archs: list[str], version: str) -> None:
        """Every kernel of PyTorch's own would fail on a device that it was not built for, and here they would not."""
        capability = self._profile.capability
        builds = [Binary.parse(arch, ptx=arch.startswith("compute_")) for arch in archs]
        if builds and all(build.refusal(capability) is not None for build in builds):
            raise RuntimeError(
                f"no kernel image is available for execution on the device: PyTorch {version} is built for "
                f"{', '.join(archs)}, and {self._profile.name} is {capability}"
            )

    def _short_of_memory(self, ask: Callable[[int], tuple[int, int]]) -> Iterator[str]:
        for index, budget in self._budgets.items():
            free, _ = ask(index)
            if free < budget.allowed:
                yield (
                    f"{format_size(free)} of GPU {index} are free, and {self._profile.name} would have "
                    f"{format_size(budget.allowed)}: a test that runs out of memory here may not do so there"
                )

    def _posed_properties(self, original: Callable[[int], Any]) -> Callable[[int], Any]:
        def _get_device_properties(device: int) -> Any:
            if not self._patches.active or real_card_is_asked_for():
                return original(device)
            if device not in self._told:
                self._told.setdefault(device, posed(original(device), self._values))
            return self._told[device]

        return _get_device_properties

    def _posed_memory(self, reserved: Callable[[int], int]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def get_memory_info(device: int) -> Any:
                free, total = original(device)
                if not self._patches.active or real_card_is_asked_for():
                    return free, total
                return self._budgets[device].free(free, reserved(device)), self._profile.memory

            return get_memory_info

        return make

    def _posed_set_fraction(self, original: Callable[[float, int], None]) -> Callable[[float, int], None]:
        def _cuda_setMemoryFraction(fraction: float, device: int) -> None:  # noqa: N802 - PyTorch's name
            posing = self._patches.active and device in self._budgets  # of another index PyTorch says that it is none
            original(self._budgets[device].fraction_of_card(fraction) if posing else fraction, device)
            if posing:
                self._told_fractions[device] = fraction

        return _cuda_setMemoryFraction

    def _posed_get_fraction(self, original: Callable[[int], float]) -> Callable[[int], float]:
        def _cuda_getMemoryFraction(device: int) -> float:  # noqa: N802 - PyTorch's name
            posing = self._patches.active and device in self._budgets
            return self._told_fractions[device] if posing else original(device)

        return _cuda_getMemoryFraction

    def _follow_dynamo(self, module: ModuleType) -> None:
        """Code that is compiled may ask for the properties: Dynamo takes them for constants by their type."""
        constants = getattr(module, "common_constant_types", None)
        if constants is not None and self._patches.active:
            constants.add(PosedProperties)
            self._dynamo_constants = constants


def forget_answers(module: ModuleType) -> None:
    """Some of PyTorch's functions ask once and keep the answer."""
    for function in vars(module).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()
