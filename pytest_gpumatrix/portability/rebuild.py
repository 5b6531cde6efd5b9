"""Finds a recorded jit function again, in another process. Runs in a compiling process only."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from pytest_gpumatrix.portability.launch import FunctionReference
from pytest_gpumatrix.portability.sources import source_hash, underlying_function


class CannotRebuildError(Exception):
    """The function is not to be had as it was recorded; the message says why."""


def find_jit_function(reference: FunctionReference, rootdir: Path) -> Any:
    """The ``JITFunction`` that a reference names, without its autotuner and heuristics.

    CannotRebuildError if its module cannot be imported, has no such function, or the sources differ.
    """
    module = _load(reference.module, rootdir / reference.file)
    found = _lookup(module, reference)
    function = underlying_function(found)
    if function is None:
        raise CannotRebuildError(f"{reference.file} has no jit function {reference.qualname}")
    if source_hash(function) != reference.source_hash:
        raise CannotRebuildError(f"sources differ: {reference.file}, or what {reference.qualname} calls, has changed")
    return _jit_function(found, function)


def _lookup(module: ModuleType, reference: FunctionReference) -> Any:
    found: Any = module
    for name in reference.qualname.split("."):
        found = getattr(found, name, None)
    if found is not None:
        return found
    # The name of the function may not be the name that the module gave to its jit function.
    for value in vars(module).values():
        function = underlying_function(value)
        if function is not None and (function.__qualname__, function.__module__) == (
            reference.qualname,
            reference.module,
        ):
            return value
    return None


def _jit_function(found: Any, function: FunctionType) -> Any:
    from triton.runtime.jit import JITFunction

    while not isinstance(found, JITFunction):
        if found is function:  # a plain function, given to triton.jit elsewhere
            return JITFunction(function)
        if hasattr(found, "rewrite"):
            raise CannotRebuildError(f"importing {function.__module__} turns on Triton's interpreter")
        found = found.fn
    return found


def _load(name: str, file: Path) -> ModuleType:
    """The module by its name if that leads to its file, else by the file under that name.

    pytest's importlib mode gives a test module a name by which it cannot be imported.
    """
    if not file.is_file():
        raise CannotRebuildError(f"{file} is not there")
    if (module := sys.modules.get(name)) is not None and _is_file(module.__file__, file):
        return module
    import pytest

    try:
        return importlib.import_module(name) if _leads_to(name, file) else _load_file(name, file)
    except (Exception, pytest.skip.Exception, SystemExit) as error:  # it is the user's code: anything may come
        raise CannotRebuildError(f"importing {name} failed: {type(error).__name__}: {error}") from error


def _leads_to(name: str, file: Path) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and _is_file(spec.origin, file)


def _load_file(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CannotRebuildError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as the import statement does: dataclasses and pickles look there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_file(found: str | None, file: Path) -> bool:
    return found is not None and Path(found).exists() and Path(found).samefile(file)
