"""What tells one specialisation of a kernel from another, in few words: "fp16 BLOCK_M=128 num_stages=4"."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_gpumatrix.portability.judging.kernel_rows import KernelFacts

_LONGEST = 40  # characters of a value
# How these traits begin; constants and options go by their own names.
_POINTER, _SCALAR, _DIVISOR = "pointer ", "scalar ", "divisor of "

Traits = Mapping[str, str]


def traits_of(facts: KernelFacts) -> Traits:
    """By what it is a trait of: constants, options, then types and what is known of arguments."""
    found = {"arch": facts.arch} if facts.arch else {}
    for part in (facts.constants, facts.options, facts.launch):
        found |= {name: _short(value) for name, value in _items(part) if name not in ("kernel", "grid")}
    for name, kind in _items(facts.signature):
        if kind != "constexpr":
            text = _short(kind)
            found[(_POINTER if text.startswith("*") else _SCALAR) + name] = text.lstrip("*")
    for name, known in _items(facts.attributes):
        found.update((_DIVISOR + name, _short(number)) for number in _divisors(known))
    return found


def common(traits: Sequence[Traits]) -> Traits:
    """Those that all have."""
    shared = set.intersection(*(set(each.items()) for each in traits))
    return {name: value for name, value in traits[0].items() if (name, value) in shared}


def words(traits: Traits) -> str:
    """Traits for a reader, those that tell most first; pointers without their names where all are alike."""
    pointers, scalars, divisors = (_of(traits, kind) for kind in (_POINTER, _SCALAR, _DIVISOR))
    alike = len(set(pointers.values())) == 1
    told = [*set(pointers.values())] if alike else [f"{name}={value}" for name, value in pointers.items()]
    kinds = (_POINTER, _SCALAR, _DIVISOR)
    told += [f"{name}={value}" for name, value in traits.items() if not name.startswith(kinds)]
    told += [f"{name}={value}" for name, value in scalars.items()]
    return " ".join([*told, *(f"{name}%{value}" for name, value in divisors.items())])


def _of(traits: Traits, kind: str) -> dict[str, str]:
    return {name.removeprefix(kind): value for name, value in traits.items() if name.startswith(kind)}


def _items(part: Any) -> Iterator[tuple[str, Any]]:
    return iter(part.items()) if isinstance(part, dict) and "too_long" not in part else iter(())


def _divisors(known: Any) -> Iterator[Any]:
    for entry in known if isinstance(known, list) else []:
        if isinstance(entry, list) and len(entry) == 2 and entry[0] == "tt.divisibility":
            yield entry[1]


def _short(value: Any) -> str:
    text = _plain(value, depth=3)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plain(value: Any, depth: int) -> str:
    """A value in the tape's form (see ``values.encode``) as a Python reader knows it."""
    if isinstance(value, list) and depth:
        return f"({','.join(_plain(item, depth - 1) for item in value)})"
    if isinstance(value, dict) and len(value) == 1:
        [(form, content)] = value.items()
        if form in ("tuple", "list") and isinstance(content, list):
            parts = [_plain(item, depth - 1) if depth else "…" for item in content]
            return f"({','.join(parts)})" if len(parts) != 1 else parts[0]
        if form == "function" and isinstance(content, dict):
            return str(content.get("qualname"))
        return _plain(content, depth - 1) if depth else "…"
    return reprlib.repr(value) if isinstance(value, (list, dict)) else str(value)  # however deep it is
