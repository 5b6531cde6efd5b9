"""Which architectures a CUDA toolkit or a PyTorch wheel builds for, and which driver runs it."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import msgspec

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.triage.facts import DeviceFacts

_ARCH = re.compile(r"(sm|compute)?_?(\d{1,2})\.?(\d)([af]?)(\+ptx)?")
_SOURCE_ONLY = "compute"  # PTX, which runs on every later device


class Toolkits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """toolkits.yml."""

    cuda: dict[str, tuple[str, str]]
    torch: dict[str, tuple[str, str]]
    driver_of_major: dict[str, int]
    driver_of_minor: dict[str, int]


def build_has_device(facts: DeviceFacts) -> bool | None:
    """Whether the framework's build holds code for the device; None where the facts do not say."""
    if facts.capability is None:
        return None
    if facts.torch_archs:
        return any(_covers(arch, facts.capability) for arch in facts.torch_archs)
    tables = _toolkits()
    for version, table in ((facts.cuda, tables.cuda), (facts.torch, tables.torch)):
        known = table.get(str(facts.capability))
        if known is not None and (found := _version(version)) is not None:
            first, last = known
            if found < (_version(first) or ()) or (last and found > (_version(last) or ())):
                return False
    return None


def driver_too_old(facts: DeviceFacts) -> bool | None:
    """Whether the driver is older than what the toolkit's code needs; None where the facts do not say."""
    driver = _version(facts.driver)
    if driver is None:
        return None
    tables = _toolkits()
    cuda = _version(facts.cuda)
    if cuda is None:
        # A driver below the first that any supported toolkit's cubins load on.
        return True if driver[0] < min(tables.driver_of_major.values()) else None
    needed = tables.driver_of_minor.get(f"{cuda[0]}.{cuda[1] if len(cuda) > 1 else 0}")
    needed = needed if needed is not None else tables.driver_of_major.get(str(cuda[0]))
    return None if needed is None else driver[0] < needed


def _covers(arch: str, capability: ComputeCapability) -> bool:
    """Whether code for an architecture runs on a device: "sm_80" on 8.6, "sm_90a" on 9.0 alone, PTX on later ones."""
    match = _ARCH.fullmatch(arch)
    if match is None:
        return False
    kind, major, minor, suffix, ptx = match.groups()
    built = ComputeCapability(int(major), int(minor))
    if suffix:
        return built == capability
    if kind == _SOURCE_ONLY or ptx:
        return capability >= built
    return built.major == capability.major and built.minor <= capability.minor


def _version(text: str) -> tuple[int, ...] | None:
    match = re.match(r"\d{1,6}(?:\.\d{1,6}){0,2}", text.strip())
    return tuple(int(part) for part in match[0].split(".")) if match else None


@functools.cache
def _toolkits() -> Toolkits:
    import yaml

    rows = yaml.safe_load(Path(__file__).with_name("toolkits.yml").read_text(encoding="utf-8"))
    return msgspec.convert(rows, Toolkits)
