"""The known GPUs: found by name, or made up from a compute capability for a card that nobody listed."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import ArchitectureLimits, Feature, Profile

_VENDOR_WORDS = re.compile(r"nvidia|geforce|tesla")
_LIMITS = (
    "shared_memory_per_block",
    "shared_memory_per_sm",
    "registers_per_block",
    "registers_per_sm",
    "registers_per_thread",
    "threads_per_block",
    "threads_per_sm",
    "blocks_per_sm",
)


@functools.cache
def load() -> Catalogue:
    """The catalogue that ships with the package."""
    from pytest_gpumatrix.hardware import figures

    sources = figures.read_sources(figures.data_file("sources.yml"))
    limits, baseline = figures.read_capabilities(figures.data_file("capabilities.yml"), sources)
    profiles = figures.read_profiles(figures.data_file("profiles.yml"), limits, sources)
    return Catalogue(profiles=profiles, architectures=limits, baseline_features=baseline)


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """The known GPUs and compute capabilities. A spelling that two profiles share is a ValueError."""

    profiles: Sequence[Profile]
    architectures: Mapping[ComputeCapability, ArchitectureLimits]
    baseline_features: frozenset[Feature]  # those that each later compute capability has too

    def __post_init__(self) -> None:
        owners: dict[str, str] = {}
        for profile in self.profiles:
            for spelling in _spellings(profile):
                if owners.setdefault(spelling, profile.id) != profile.id:
                    raise ValueError(f"{spelling!r} could mean {owners[spelling]} or {profile.id}")

    def resolve(self, name: str) -> Profile:
        """The profile by its id, its name, NVML's name, or any spelling of these: "rtx-3090", "RTX 3090".

        GpuMatrixError for any other name: which profiles are near, and which there are.
        """
        wanted = _normal(name)
        by_spelling = {spelling: profile for profile in self.profiles for spelling in _spellings(profile)}
        if wanted in by_spelling:
            return by_spelling[wanted]
        near = [by_spelling[spelling].id for spelling in difflib.get_close_matches(wanted, by_spelling)]
        if wanted:
            near = [p.id for spelling, p in by_spelling.items() if spelling.startswith(wanted)] + near
        hint = f"; did you mean {' or '.join(dict.fromkeys(near))}" if near else ""
        known = ", ".join(profile.id for profile in self.profiles)
        raise GpuMatrixError(f"no GPU profile {name!r}{hint} (known: {known})")

    def limits(self, capability: ComputeCapability) -> ArchitectureLimits:
        """What holds for every GPU of this compute capability; GpuMatrixError where that is not known."""
        if capability in self.architectures:
            return self.architectures[capability]
        known = ", ".join(str(capability) for capability in sorted(self.architectures))
        raise GpuMatrixError(f"compute capability {capability} is not in the catalogue. Known: {known}")

    def for_gpu(self, name: str, capability: ComputeCapability, *, memory: int, sm_count: int | None = None) -> Profile:
        """The profile of a GPU that NVML named so: a known one, else one made from its compute capability.

        ``memory`` (bytes) and ``sm_count`` are what NVML reports; a made-up profile has them, and a ``note``.
        """
        for profile in self.profiles:
            if name in profile.nvml_names and profile.capability == capability:
                return profile
        limits, caveat = self._stand_in(capability)
        return Profile(
            id=re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
            name=name,
            nvml_names=(name,),
            memory=memory,
            sm_count=sm_count,
            bandwidth=None,
            limits=limits,
            note=f"{name!r} is not a known GPU: its profile is made from {caveat}",
        )

    def _stand_in(self, capability: ComputeCapability) -> tuple[ArchitectureLimits, str]:
        """Limits to go by, and what they were taken from; a feature not known to be there is left out."""
        if capability in self.architectures:
            return self.architectures[capability], f"what holds for compute capability {capability}"
        lower = [known for known in self.architectures if known < capability and known.major == capability.major]
        if lower:
            nearest = self.architectures[max(lower)]
            features = nearest.features & self.baseline_features
            caveat = (
                f"compute capability {nearest.capability}, as {capability} is not in the catalogue; "
                "of its features only those that later capabilities keep are assumed"
            )
            limits = replace(nearest, capability=capability, features=features, blocks_per_cluster=None)
            return limits, caveat
        smallest = {field: min(getattr(known, field) for known in self.architectures.values()) for field in _LIMITS}
        limits = ArchitectureLimits(
            capability=capability, architecture=f"{capability.major}.x", features=frozenset(), **smallest
        )
        return (
            limits,
            f"the smallest limits of any known GPU and no features, as nothing is known of {capability}",
        )


def _spellings(profile: Profile) -> Iterator[str]:
    return (_normal(name) for name in (profile.id, profile.name, *profile.nvml_names))


def _normal(name: str) -> str:
    return _VENDOR_WORDS.sub("", re.sub(r"[^a-z0-9]", "", name.lower()))
