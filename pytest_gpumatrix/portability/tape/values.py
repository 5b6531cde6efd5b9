"""Values of a launch (constants, options) as JSON, and back."""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Callable
from typing import Any

import msgspec

from pytest_gpumatrix.portability.tape.launch import FunctionReference

_PLAIN = (bool, str, type(None))
_LAYOUTS = "triton.experimental.gluon.language."
_INTEGERS = range(-(2**63), 2**64)  # what a JSON reader may be trusted with


class CannotEncodeError(Exception):
    """A value that has no form on the tape; the message says which."""


def encode(value: Any, refer: Callable[[Any], FunctionReference]) -> Any:
    """JSON for a constant: numbers, text, None, tuples, Triton's dtype, constexpr and layouts, functions by ``refer``.

    Anything else is a CannotEncodeError: subclasses too, for their behaviour would be lost.
    """
    kind = type(value)
    if kind in _PLAIN or (kind is int and value in _INTEGERS) or (kind is float and math.isfinite(value)):
        return value
    if kind is int:
        return {"int": str(value)}
    if kind is float:
        return {"float": repr(value)}
    if kind in (tuple, list):
        return {kind.__name__: [encode(item, refer) for item in value]}
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": {key: encode(item, refer) for key, item in value.items()}}
    if kind.__module__.startswith("triton."):
        if kind.__name__ == "constexpr":
            return {"constexpr": encode(value.value, refer)}
        if kind.__name__ == "dtype":
            return {"dtype": value.name}
        if kind.__name__ == "tuple":
            return {"tuple": [encode(item, refer) for item in value]}
        if kind.__module__.startswith(_LAYOUTS) and dataclasses.is_dataclass(kind):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(kind) if field.init}
            of_fields = {name: encode(item, refer) for name, item in fields.items()}
            return {"layout": {"module": kind.__module__, "name": kind.__qualname__, "fields": of_fields}}
        if hasattr(value, "fn"):
            return {"function": msgspec.to_builtins(refer(value))}
    raise CannotEncodeError(f"a {kind.__module__}.{kind.__qualname__} has no form on the tape")


def encode_if_possible(what: str, value: Any, refer: Callable[[Any], FunctionReference], obstacles: list[str]) -> Any:
    """The same; for a value that has no form None, and one more obstacle, which says what it is of."""
    try:
        return encode(value, refer)
    except CannotEncodeError as error:
        obstacles.append(f"{what}: {error}")
        return None


def decode(value: Any, find: Callable[[FunctionReference], Any]) -> Any:
    """The value that ``encode`` was given; functions by ``find``. ValueError for a form that is not known."""
    if isinstance(value, list):
        raise ValueError("a bare list is no encoded value")
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"not an encoded value: {sorted(value)}")
    [(form, content)] = value.items()
    match form:
        case "int":
            return int(content)
        case "float":
            return float(content)
        case "tuple":
            return tuple(decode(item, find) for item in content)
        case "list":
            return [decode(item, find) for item in content]
        case "dict":
            return {key: decode(item, find) for key, item in content.items()}
        case "function":
            return find(msgspec.convert(content, FunctionReference))
        case "layout":
            fields = {name: decode(item, find) for name, item in content["fields"].items()}
            return _layout(content["module"], content["name"])(**fields)
        case "constexpr" | "dtype":
            import triton.language as tl

            return tl.constexpr(decode(content, find)) if form == "constexpr" else tl.dtype(content)
    raise ValueError(f"an encoded value of an unknown form: {form!r}")


def _layout(module: str, name: str) -> Any:
    """The class of one of Gluon's layouts. ValueError for any other: a tape chooses no class of this machine."""
    if not module.startswith(_LAYOUTS):
        raise ValueError(f"no layout of Gluon: {module}.{name}")
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, type) or not dataclasses.is_dataclass(found):
        raise ValueError(f"no layout of Gluon: {module}.{name}")
    return found
