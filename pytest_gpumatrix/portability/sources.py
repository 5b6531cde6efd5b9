"""A hash of all that a jit function's code depends on, the same whether it is interpreted or compiled."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_NOTHING = object()


def underlying_function(value: Any) -> FunctionType | None:
    """The Python function under Triton's wrappers (jit, interpreted, autotune, heuristics), or None."""
    while not isinstance(value, FunctionType):
        value = getattr(value, "fn", None)
        if value is None:
            return None
    return value


def source_hash(function: FunctionType) -> str:
    """SHA-256 over the files of the function and of all it calls, and the global constants that these read.

    Triton's own ``cache_key`` has the same purpose, but cannot be computed while interpreting. Whole files are
    taken, so that an edit beside the kernel counts as a change: that costs a compilation and never misses one.
    What belongs to Triton itself is left to the compiler's version.
    """
    files: set[str] = set()
    constants: set[str] = set()
    _collect(function, files, constants, seen=set())
    hasher = hashlib.sha256()
    for part in (*sorted(_file_hash(file) for file in files), *sorted(constants)):
        hasher.update(part.encode())
    return hasher.hexdigest()


def _collect(function: FunctionType, files: set[str], constants: set[str], seen: set[Any]) -> None:
    if function in seen:
        return
    seen.add(function)
    files.add(function.__code__.co_filename)
    names = set(_names(function.__code__))
    for name, value in _read_by(function, names):
        if _is_tritons(value):
            continue
        if isinstance(value, ModuleType):
            for attribute in names & vars(value).keys():
                _note(f"{name}.{attribute}", vars(value)[attribute], files, constants, seen)
        else:
            _note(name, value, files, constants, seen)


def _note(name: str, value: Any, files: set[str], constants: set[str], seen: set[Any]) -> None:
    if isinstance(value, ModuleType) or _is_tritons(value):
        return
    if (called := underlying_function(value)) is not None:
        _collect(called, files, constants, seen)
    elif isinstance(value, type):
        file = getattr(sys.modules.get(value.__module__), "__file__", None)
        files.update([file] if file else [])
    else:
        constants.add(f"{name}={_text(value)}")


def _read_by(function: FunctionType, names: set[str]) -> Iterator[tuple[str, Any]]:
    """The globals and the variables of enclosing functions that a function may read."""
    scope: Mapping[str, Any] = function.__globals__
    for name in names:
        if (value := scope.get(name, _NOTHING)) is not _NOTHING:
            yield name, value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_tritons(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "triton"
    function = underlying_function(value)
    owner = function if function is not None else value
    return isinstance(owner, (FunctionType, type)) and str(owner.__module__).partition(".")[0] == "triton"


def _text(value: Any) -> str:
    """A constant as text; only the type of what is no constant to Triton, as its text may change from run to run."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_text(item) for item in value)})"
    kind = type(value)
    if kind in (bool, int, float, str, type(None)) or kind.__module__.startswith("triton."):
        return repr(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"


def _file_hash(file: str) -> str:
    path = Path(file)
    stat = path.stat()
    return _hash_of_version(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=1024)
def _hash_of_version(path: Path, mtime: int, size: int) -> str:  # noqa: ARG001 - they make up the key
    return hashlib.sha256(path.read_bytes()).hexdigest()
