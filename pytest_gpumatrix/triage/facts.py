"""What is known of the device and the process when a test failed."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.triage.described import described
from pytest_gpumatrix.triage.fact_values import (
    as_archs,
    as_bool,
    as_bytes,
    as_capability,
    as_count,
    as_exit_code,
    as_processes,
    as_scaled,
    as_signal,
    as_text,
    memory_of_processes,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceFacts:
    """Facts beside the text of a failure. All may be unknown (None, or empty); sizes are in bytes."""

    gpu: str = ""  # its name
    capability: ComputeCapability | None = None
    count: int | None = None  # GPUs that the process sees
    memory_total: int | None = None
    memory_free_at_start: int | None = None  # when the session began
    memory_free: int | None = None  # when the test had failed
    memory_of_others: int | None = None  # held by other processes
    other_processes: int | None = None  # how many others use the GPU
    memory_reserved: int | None = None  # held by this process
    driver: str = ""
    cuda: str = ""  # the toolkit that the framework was built with
    torch: str = ""
    torch_archs: tuple[str, ...] = ()  # torch.cuda.get_arch_list()
    triton: str = ""
    ptxas: str = ""
    wsl: bool | None = None
    mig: bool | None = None
    container: bool | None = None
    display_watchdog: bool | None = None  # the driver ends a kernel that runs for seconds
    outcome: str = ""  # of the test: "passed" ends the search
    earlier_sticky: bool | None = None  # an earlier test of this process raised an error that breaks the CUDA context
    exit_signal: str = ""  # what ended the process: "SIGSEGV"
    exit_code: int | None = None
    worker_lost: bool | None = None  # pytest-xdist lost the worker
    about: str = ""  # free text about the card and the software

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> DeviceFacts:
        """Read facts as people and tools write them: aliases are understood, unknown keys are passed over.

        ``hardware`` and ``framework`` are free text ("2x RTX 5090 (sm_120)", "torch 2.7.0+cu128, triton 3.3"); what is
        stated by a key of its own beats them. GpuMatrixError for a value of a wrong type, naming the key.
        """
        named: dict[str, Any] = {}
        texts: list[str] = []
        for key, value in _flat(given):
            field, unit = _field(_normal(key))
            if value is None or field is None:
                continue
            if field == "about":
                texts.append(_read(as_text, key, value))
            elif field not in named:
                reader = _READERS[field]
                named[field] = _read(reader, key, value if unit == 1 else as_scaled(value, unit))
            if field == "other_processes" and (memory := _read(memory_of_processes, key, value)) is not None:
                named.setdefault("memory_of_others", memory)
        about = "; ".join([*texts, named.get("gpu", "")])
        return replace(cls(about=about), **{**described(about), **named})

    @property
    def died(self) -> bool:
        """Whether the process ended without a word of its own."""
        by_signal = self.exit_code is not None and (self.exit_code < 0 or self.exit_code > 128)
        return bool(self.exit_signal or self.worker_lost or by_signal)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "gpu": as_text,
    "capability": as_capability,
    "count": as_count,
    "memory_total": as_bytes,
    "memory_free_at_start": as_bytes,
    "memory_free": as_bytes,
    "memory_of_others": as_bytes,
    "other_processes": as_processes,
    "memory_reserved": as_bytes,
    "driver": as_text,
    "cuda": as_text,
    "torch": as_text,
    "torch_archs": as_archs,
    "triton": as_text,
    "ptxas": as_text,
    "wsl": as_bool,
    "mig": as_bool,
    "container": as_bool,
    "display_watchdog": as_bool,
    "outcome": as_text,
    "earlier_sticky": as_bool,
    "exit_signal": as_signal,
    "exit_code": as_exit_code,
    "worker_lost": as_bool,
}
_UNITS = {"bytes": 1, "b": 1, "kib": 2**10, "mib": 2**20, "mb": 2**20, "gib": 2**30, "gb": 2**30}  # as NVML counts
_GROUPS = {"device", "gpu", "memory", "process", "versions", "software", "environment", "system", "test", "torch"}


def _flat(given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The facts, with those of a group ("device": {...}) beside the others; the outer ones come first."""
    if not isinstance(given, Mapping):
        raise GpuMatrixError(f"facts must be a mapping, not {type(given).__name__}: {{'capability': '8.6', ...}}")
    plain = [(str(key), value) for key, value in given.items() if not isinstance(value, Mapping)]
    for key, group in given.items():
        if not isinstance(group, Mapping) or _normal(str(key)) not in _GROUPS:
            continue
        for inner, value in group.items():
            whole = f"{key}_{inner}"
            plain.append((whole if _field(_normal(whole))[0] is not None else str(inner), value))
    return plain


@functools.cache
def _names() -> Mapping[str, str]:
    import yaml

    rows = yaml.safe_load(Path(__file__).with_name("fact_names.yml").read_text(encoding="utf-8"))
    return {name: field for field, names in rows.items() for name in names}


def _field(name: str) -> tuple[str | None, int]:
    """The field that a name means (None for an unknown one), and the unit that it states, in bytes."""
    if name in _names():
        return _names()[name], 1
    stem, _, unit = name.rpartition("_")
    field = _names().get(stem)
    return (field, _UNITS[unit]) if unit in _UNITS and field is not None and field.startswith("memory") else (None, 1)


def _normal(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")


def _read(reader: Callable[[Any], Any], key: str, value: Any) -> Any:
    try:
        return reader(value)
    except ValueError as error:
        shown = repr(value)
        shown = shown if len(shown) <= 80 else shown[:79] + "…"
        raise GpuMatrixError(f"fact {key[:80]!r}: {shown} is not {error}") from error
