"""Facts from free text about a machine: "8x RTX 4090 (sm_89), WSL2", "torch 2.7.0+cu128, driver 470"."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from pytest_gpumatrix.hardware.capability import ComputeCapability

_CAPABILITY = re.compile(
    r"(?<!pre-)(?<![<>=])(?<!below )(?<!than )"
    r"\b(?:sm_?(\d{1,2})(\d)[af]?\b|(?:cc|compute capability|capability) (\d{1,2})\.(\d)\b)"
)
_COUNT = re.compile(r"\b(\d{1,3}) ?x ?(?=[a-z])|\b(\d{1,3})[- ]gpus?\b|\b(single)\b(?! process)")
_MEMORY = re.compile(r"\b(\d{1,3}) ?gi?b\b(?! (?:of )?(?:ram|host))")
_VERSIONS = {
    "torch": re.compile(r"\b(?:py)?torch (\d+\.\d+[\w.+]*)"),
    "triton": re.compile(r"\btriton (\d+\.\d+[\w.]*)"),
    "ptxas": re.compile(r"\b(?:ptxas|nvcc) (\d+\.\d+)"),
    "cuda": re.compile(r"\bcuda (\d+\.\d+)"),
    "driver": re.compile(r"\bdriver (?:version )?(\d{3}(?:\.\d+){0,2})"),
}
_BUILD = re.compile(r"[+ ]?\bcu(\d{2})(\d)\b")
_PARALLEL = re.compile(r"\bparallel (?:tests?|runs?|workers|processes|jobs|suite)\b|\bshared gpu\b|\bother process")
_WORDS = {
    "wsl": re.compile(r"\bwsl\d?\b|microsoft-standard"),
    "mig": re.compile(r"\bmig\b"),
    "container": re.compile(r"\bcontainer\b|\bdocker\b|\bkubernetes\b|\bpod\b"),
}


def described(text: str) -> dict[str, Any]:
    """The fields of DeviceFacts that a free text states."""
    text = text.lower()
    found: dict[str, Any] = {}
    if (capability := _capability(text)) is not None:
        found["capability"] = capability
    if match := _COUNT.search(text):
        found["count"] = int(match[1] or match[2] or 1)
    if match := _MEMORY.search(text):
        found["memory_total"] = int(match[1]) * 2**30
    for name, pattern in _VERSIONS.items():
        if match := pattern.search(text):
            found[name] = match[1]
    if match := _BUILD.search(text):
        found["cuda"] = f"{int(match[1])}.{match[2]}"
    if _PARALLEL.search(text):
        found["other_processes"] = 1
    found |= {name: True for name, pattern in _WORDS.items() if pattern.search(text)}
    return found


def _capability(text: str) -> ComputeCapability | None:
    """What the text states, else that of the one kind of card which it names."""
    stated = {
        ComputeCapability(int(match[1] or match[3]), int(match[2] or match[4])) for match in _CAPABILITY.finditer(text)
    }
    if stated:
        return stated.pop() if len(stated) == 1 else None
    named = set()
    for pattern, capability in _cards():
        text, found = pattern.subn(" ", text)
        if found:
            named.add(capability)
    return named.pop() if len(named) == 1 else None


@functools.cache
def _cards() -> tuple[tuple[re.Pattern[str], ComputeCapability], ...]:
    import yaml

    from pytest_gpumatrix.hardware import catalogue

    known = [
        (re.compile(rf"(?<!\w){re.escape(name.lower())}(?!\w)"), profile.capability)
        for profile in catalogue.load().profiles
        for name in (*profile.nvml_names, profile.name)
    ]
    rows = yaml.safe_load(Path(__file__).with_name("cards.yml").read_text(encoding="utf-8"))
    return (*known, *((re.compile(pattern), ComputeCapability.parse(text)) for pattern, text in rows))
