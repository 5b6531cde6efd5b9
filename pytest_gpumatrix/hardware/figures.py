"""The data files: read strictly, each figure with its source, and turned into profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any, TypeVar

import msgspec
import yaml

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.profile import ArchitectureLimits, Feature, Profile
from pytest_gpumatrix.hardware.sizes import parse_size

# [value, id of its source]
Number = tuple[int, str]
Text = tuple[str, str]
Size = tuple[str, str]  # "99KiB"
# feature -> id of its source
Features = dict[Feature, str]

_T = TypeVar("_T")


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a figure comes from: a page, or a measurement."""

    title: str
    url: str | None = None
    measured: str | None = None

    def __post_init__(self) -> None:
        if (self.url is None) == (self.measured is None):
            raise ValueError(f"source {self.title!r} needs a url or how it was measured, and not both")
        if self.url is not None and not self.url.startswith("https://"):
            raise ValueError(f"source {self.title!r} needs an https address, not {self.url!r}")


class CapabilityRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One compute capability in capabilities.yml."""

    architecture: Text
    shared_memory_per_block: Size
    shared_memory_per_sm: Size
    registers_per_thread: Number
    registers_per_block: Number
    registers_per_sm: Number
    threads_per_block: Number
    threads_per_sm: Number
    blocks_per_sm: Number
    blocks_per_cluster: Number | None = None
    features: Features


class CapabilitiesFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """capabilities.yml."""

    baseline_features: Features
    capabilities: dict[str, CapabilityRow]


class ProfileRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One GPU in profiles.yml."""

    name: str
    capability: Text
    nvml_names: dict[str, str]
    memory: Size
    sm_count: Number
    bandwidth: Size | None = None


def read_sources(text: str) -> dict[str, Source]:
    """Source id -> source, from sources.yml."""
    return _convert(text, dict[str, Source], "sources.yml")


def read_capabilities(
    text: str, sources: Mapping[str, Source]
) -> tuple[dict[ComputeCapability, ArchitectureLimits], frozenset[Feature]]:
    """What holds per compute capability, and the features that each later capability has too."""
    file = _convert(text, CapabilitiesFile, "capabilities.yml")
    _require_sources("baseline_features", file.baseline_features.values(), sources)
    limits: dict[ComputeCapability, ArchitectureLimits] = {}
    for name, row in file.capabilities.items():
        _require_sources(name, _sources_of(row), sources)
        capability = ComputeCapability.parse(name)
        limits[capability] = ArchitectureLimits(
            capability=capability,
            architecture=row.architecture[0],
            shared_memory_per_block=parse_size(row.shared_memory_per_block[0]),
            shared_memory_per_sm=parse_size(row.shared_memory_per_sm[0]),
            registers_per_block=row.registers_per_block[0],
            registers_per_sm=row.registers_per_sm[0],
            registers_per_thread=row.registers_per_thread[0],
            threads_per_block=row.threads_per_block[0],
            threads_per_sm=row.threads_per_sm[0],
            blocks_per_sm=row.blocks_per_sm[0],
            features=frozenset(row.features),
            blocks_per_cluster=row.blocks_per_cluster[0] if row.blocks_per_cluster is not None else None,
        )
    return limits, frozenset(file.baseline_features)


def read_profiles(
    text: str, limits: Mapping[ComputeCapability, ArchitectureLimits], sources: Mapping[str, Source]
) -> tuple[Profile, ...]:
    """The known GPUs, in the order of profiles.yml."""
    profiles: list[Profile] = []
    for id_, row in _convert(text, dict[str, ProfileRow], "profiles.yml").items():
        _require_sources(id_, _sources_of(row), sources)
        capability = ComputeCapability.parse(row.capability[0])
        if capability not in limits:
            raise ValueError(f"profiles.yml: {id_}: capabilities.yml has no {capability}")
        profiles.append(
            Profile(
                id=id_,
                name=row.name,
                nvml_names=tuple(row.nvml_names),
                memory=parse_size(row.memory[0]),
                sm_count=row.sm_count[0],
                bandwidth=None if row.bandwidth is None else parse_size(row.bandwidth[0]),
                limits=limits[capability],
            )
        )
    return tuple(profiles)


def data_file(name: str) -> str:
    """The text of a file of this package's data."""
    return (resources.files(__package__) / "data" / name).read_text(encoding="utf-8")


def _convert(text: str, type_: type[_T], name: str) -> _T:
    try:
        return msgspec.convert(yaml.safe_load(text), type_)
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise ValueError(f"{name}: {error}") from error


def _sources_of(row: CapabilityRow | ProfileRow) -> Iterable[str]:
    for value in msgspec.structs.asdict(row).values():
        yield from _sources_in(value)


def _sources_in(value: Any) -> Iterable[str]:
    if isinstance(value, dict):  # a name or a feature -> its source
        yield from value.values()
    elif isinstance(value, tuple):
        yield value[1]


def _require_sources(where: str, ids: Iterable[str], sources: Mapping[str, Source]) -> None:
    for id_ in ids:
        if id_ not in sources:
            raise ValueError(f"{where}: sources.yml has no {id_!r}")
