"""What a value is told by: its name, its text, or the parts that it holds."""

from __future__ import annotations

import functools
from enum import Enum
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range)


def underlying_function(value: Any) -> FunctionType | None:
    """The Python function under Triton's wrappers (jit, interpreted, autotune, heuristics), or None."""
    while not isinstance(value, FunctionType):
        value = getattr(value, "fn", None)
        if value is None:
            return None
    return value


def parts_of(value: Any) -> list[tuple[str, Any]] | None:
    """What a container, a wrapper of Python's own or a constant of Triton's holds; None for anything else."""
    if isinstance(value, Enum):
        return [(".name", value.name), (".value", value.value), (".class", type(value))]
    if isinstance(value, (tuple, list)):
        return [(f"[{number}]", item) for number, item in enumerate(value)]
    if isinstance(value, (dict, MappingProxyType)):
        return [(f"[{_key(key)}]", item) for key, item in value.items()]
    if isinstance(value, SimpleNamespace):
        return [(f".{name}", item) for name, item in vars(value).items()]
    if isinstance(value, (set, frozenset)):
        return [(f"{{{_key(item)}}}", item) for item in value]
    if isinstance(value, functools.partial):
        return [("()", value.func), ("(*)", value.args), ("(**)", value.keywords)]
    if isinstance(value, property):
        return [(".get", value.fget)]
    if isinstance(value, functools.cached_property):
        return [(".get", value.func)]
    if hasattr(value, "__func__"):  # a method, static or not
        return [(".function", value.__func__), (".self", getattr(value, "__self__", None))]
    if type(value).__module__.startswith("triton.") and type(value).__name__ in ("constexpr", "tuple"):
        inner = value.value if type(value).__name__ == "constexpr" else tuple(value)
        return [(".value", inner)]
    return None


def text_of_value(value: Any) -> str | None:
    """The text of a value that is told by it in every process; None for anything else."""
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, (ModuleType, type(None))):
        return named(value)
    if (kind.__name__ == "dtype" and root in ("triton", "torch", "numpy")) or root == "typing":
        return repr(value)
    return None


def _key(key: Any) -> str:
    return repr(key) if type(key) in PLAIN else text_of_value(key) or named(type(key))


def named(value: Any) -> str:
    """A value by its module or class, and its name."""
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    function = underlying_function(value) if not isinstance(value, type) else None
    named = value if isinstance(value, (type, BuiltinFunctionType)) else function or type(value)
    return f"{named.__module__}.{named.__qualname__}"
