"""Values of facts as people and tools write them. What is wrong is a ValueError that says what was wanted."""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Mapping
from typing import Any

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.sizes import parse_size

_CAPABILITY = re.compile(r"(?:(?:sm|compute)_?|cc ?)?(\d{1,2})\.?(\d)[af]?(?:\+ptx)?")
_YES = {"true", "yes", "on", "1", "enabled", "active"}
_NO = {"false", "no", "off", "0", "disabled", "inactive", "none", ""}
_LONGEST = 4_000  # characters of a text that are kept


def as_text(value: Any) -> str:
    """A text; a number or a version is written as one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("a text")
    return str(value)[:_LONGEST]


def as_bool(value: Any) -> bool:
    """Yes or no. A text that says more ("Microsoft WSL2", an error's words) is a yes."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        word = value.strip().lower()
        return word in _YES or word not in _NO
    raise ValueError("true or false")


def as_capability(value: Any) -> ComputeCapability:
    """A compute capability: "8.6", 8.6, 86, "sm_86", [8, 6]."""
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(type(part) is int for part in value):
        value = f"{value[0]}.{value[1]}"
    if not isinstance(value, bool) and isinstance(value, (str, int, float)):
        match = _CAPABILITY.fullmatch(str(value).strip().lower())
        if match is not None:
            return ComputeCapability(int(match[1]), int(match[2]))
    raise ValueError("a compute capability: write '8.6'")


def as_count(value: Any) -> int:
    """A number of things; a list is counted."""
    if isinstance(value, (list, tuple)):
        return len(value)
    return _whole(value, "a whole number")


def as_exit_code(value: Any) -> int:
    """How a process ended, as subprocess or a shell says it."""
    return _whole(value, "an exit code", least=-256)


def as_signal(value: Any) -> str:
    """A signal's name: "SIGSEGV", "segv", 11 and -11 are the same."""
    if isinstance(value, str) and not value.strip().lstrip("-").isdecimal():
        name = value.strip().upper()
        return name if name.startswith("SIG") or not name else f"SIG{name}"
    number = abs(_whole(int(value) if isinstance(value, str) else value, "a signal", least=-256))
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def as_scaled(value: Any, unit: int) -> Any:
    """A bare number in a unit of so many bytes; what is no number is left for its reader to judge."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,20}(\.\d{1,10})?", value.strip()):
        value = float(value)
    return value * unit if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def as_bytes(value: Any) -> int:
    """A size: whole bytes, or a text with its unit ("23.5 GiB")."""
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"\d{1,20}(\.\d{1,10})?", text):
            value = float(text)
        elif re.fullmatch(r"0+(\.0+)? ?[kmgt]?i?b(ytes)?", text.lower()):
            return 0
        else:
            return _size(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise ValueError("a size: write '23.5 GiB', or a number of bytes")
    return int(value)


def as_processes(value: Any) -> int:
    """How many other processes there are: a number, yes or no, or a list of them."""
    if isinstance(value, (list, tuple, Mapping)):
        return len(value)
    if isinstance(value, (bool, str)) and not str(value).strip().isdecimal():
        return int(as_bool(value))
    return _whole(value, "a number or a list of processes")


def memory_of_processes(value: Any) -> int | None:
    """What a list of processes holds together, where each says it: [{"pid": 12, "memory": "3 GiB"}]."""
    rows = value if isinstance(value, (list, tuple)) else []
    sizes = [
        size
        for row in rows
        if isinstance(row, Mapping)
        for key, size in row.items()
        if str(key).lower().startswith(("memory", "used"))
    ]
    return sum(as_bytes(size) for size in sizes) if sizes else None


def as_archs(value: Any) -> tuple[str, ...]:
    """Architectures that a build holds code for: "sm_80 sm_90", "8.0;9.0+PTX" or a list of these."""
    parts = re.split(r"[\s,;]+", value) if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ValueError("a list of architectures: write ['sm_80', 'sm_90']")
    return tuple(part.strip().lower() for part in parts if part.strip())


def _whole(value: Any, what: str, least: int = 0) -> int:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value.strip()):
        value = int(value)
    if type(value) is not int or value < least:
        raise ValueError(what)
    return value


def _size(text: str) -> int:
    match = re.fullmatch(r"([\d,]{1,24}(?:\.\d{1,10})?) ?([kmgt])?(i?)b(?:ytes?)?", text.lower())
    if match is None:
        raise ValueError("a size: write '23.5 GiB', or a number of bytes")
    number = float(match[1].replace(",", ""))
    unit = parse_size(f"1{match[2].upper()}{match[3]}B") if match[2] else 1
    return int(number * unit)
