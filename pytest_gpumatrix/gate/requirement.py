"""What a test needs of a GPU, and why a device does not have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from packaging.requirements import Requirement as ModuleRequirement
from packaging.specifiers import SpecifierSet

from pytest_gpumatrix.gate.specifier import allows
from pytest_gpumatrix.hardware.profile import Feature, Profile
from pytest_gpumatrix.hardware.sizes import format_size
from pytest_gpumatrix.hardware.target import Target


class Otherwise(str, Enum):
    """What to do where a requirement is not met."""

    SKIP = "skip"
    XFAIL = "xfail"  # run it, and expect it to fail


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirement:
    """One ``gpu`` mark. None, 0 or empty: it asks for nothing of that kind."""

    text: str  # the mark's arguments as written, for messages
    capabilities: SpecifierSet | None = None
    target: Target | None = None
    memory: int = 0  # bytes
    shared_memory: int = 0  # bytes per block
    count: int = 1
    modules: tuple[ModuleRequirement, ...] = ()
    features: frozenset[Feature] = frozenset()
    otherwise: Otherwise = Otherwise.SKIP
    interpret: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """A device as a requirement sees it: a profile, its memory as it is here, and how many there are."""

    name: str  # in the matrix: "rtx3090"
    profile: Profile
    memory: int  # bytes
    count: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """The ``gpu`` marks of one test: all of them must hold."""

    requirements: tuple[Requirement, ...]  # the nearest mark first

    @property
    def text(self) -> str:
        """The marks as text: "gpu('>=9.0') gpu(memory='20GiB')"."""
        return " ".join(f"gpu({requirement.text})" for requirement in self.requirements)

    @property
    def interpret(self) -> bool:
        """Whether the test may run on a CPU by Triton's interpreter: the nearest mark that says so decides."""
        stated = (requirement.interpret for requirement in self.requirements)
        return next((value for value in stated if value is not None), False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmet:
    """Why a device does not meet a need, and what the marks say to do then."""

    reason: str
    otherwise: Otherwise


def unmet(need: Need, device: Device, missing_module: Callable[[ModuleRequirement], str | None]) -> Unmet | None:
    """Why this device does not meet the need, or None. An unmet skip beats an unmet xfail.

    ``missing_module`` says why a module is not there, or None; pass ``modules_present`` for a device
    of another machine, where the modules are taken as present.
    """
    found = [
        Unmet(reason=reason, otherwise=requirement.otherwise)
        for requirement in need.requirements
        if (reason := _reason(requirement, device, missing_module)) is not None
    ]
    return next((item for item in found if item.otherwise is Otherwise.SKIP), found[0] if found else None)


def unmet_on_cpu(
    need: Need,
    why_no_gpu: str,
    *,
    interpreting: bool,
    missing_module: Callable[[ModuleRequirement], str | None],
) -> str | None:
    """Why the test does not run on a machine without a GPU, or None if the interpreter may run it."""
    if not need.interpret:
        return f"needs a CUDA GPU: {need.text}; none here ({why_no_gpu})"
    if not interpreting:
        return f"needs a CUDA GPU, or gpu_interpret = true to run by Triton's interpreter; no GPU here ({why_no_gpu})"
    for requirement in need.requirements:
        if requirement.count > 1:
            return f"needs {requirement.count} GPUs; none here ({why_no_gpu})"
        for module in requirement.modules:
            if reason := missing_module(module):
                return reason
    return None


def modules_present(module: ModuleRequirement) -> str | None:  # noqa: ARG001 - the shape of missing_module
    """Take every module as present."""
    return None


def _reason(
    requirement: Requirement, device: Device, missing_module: Callable[[ModuleRequirement], str | None]
) -> str | None:
    profile = device.profile
    if requirement.capabilities is not None and not allows(requirement.capabilities, profile.capability):
        needed = ",".join(sorted(str(requirement.capabilities).split(","), reverse=True))
        return f"needs compute capability {needed}; {device.name} has {profile.capability}"
    if requirement.target is not None and profile.capability not in requirement.target.capabilities:
        runs_on = " or ".join(str(capability) for capability in requirement.target.capabilities)
        return f"needs {requirement.target.name}, which runs on {runs_on} only; {device.name} has {profile.capability}"
    lacking = sorted(feature.value for feature in requirement.features - profile.limits.features)
    if lacking:
        return f"needs {', '.join(lacking)}; {device.name} ({profile.capability}) does not have it"
    if requirement.memory > device.memory:
        return f"needs {format_size(requirement.memory)} of GPU memory; {device.name} has {format_size(device.memory)}"
    shared = profile.limits.shared_memory_per_block
    if requirement.shared_memory > shared:
        return (
            f"needs {requirement.shared_memory:,} B of shared memory per block; "
            f"{device.name} ({profile.capability}) has {shared:,} B"
        )
    if requirement.count > device.count:
        return f"needs {requirement.count} GPUs; {device.name} has {device.count}"
    return next((reason for module in requirement.modules if (reason := missing_module(module))), None)
