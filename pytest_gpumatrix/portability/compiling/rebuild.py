"""Finds a recorded jit function again, in another process. Runs in a compiling process only."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from pytest_gpumatrix.portability.compiling.generated import CannotGenerateError, jit_function_of_text
from pytest_gpumatrix.portability.tape.launch import FunctionReference
from pytest_gpumatrix.portability.tape.sources import source_hash
from pytest_gpumatrix.portability.tape.value_parts import underlying_function


class CannotRebuildError(Exception):
    """The function is not to be had as it was recorded; the message says why."""


def find_jit_function(reference: FunctionReference, rootdir: Path) -> Any:
    """The ``JITFunction`` that a reference names, without its autotuner and heuristics.

    CannotRebuildError if its module cannot be imported, has no such function, or the sources differ. One name may
    have been given to several functions; the line tells them apart.
    """
    if reference.text is not None:
        try:
            return jit_function_of_text(reference)
        except CannotGenerateError as error:
            raise CannotRebuildError(str(error)) from error
    module = _load(reference.module, rootdir / reference.file)
    found = _named_so(module, reference)
    if not found:
        raise CannotRebuildError(f"{reference.file} has no jit function {reference.qualname}")
    of_line = [entry for entry in found if entry[1].__code__.co_firstlineno == reference.line]
    if not of_line:
        raise CannotRebuildError(
            f"cannot be found again: {reference.file} has no {reference.qualname} that begins in line {reference.line}"
        )
    for value, function in of_line:
        if source_hash(function).text == reference.source_hash:
            return _jit_function(value, function)
    raise CannotRebuildError(f"sources differ: {reference.file}, or what {reference.qualname} calls, has changed")


def _named_so(module: ModuleType, reference: FunctionReference) -> list[tuple[Any, FunctionType]]:
    """What the module has under the function's name, or that holds a function of this name; jit functions first."""
    by_name: Any = module
    for name in reference.qualname.split("."):
        by_name = getattr(by_name, name, None)
    found = []
    for value in (by_name, *_values(module)):
        function = underlying_function(value)
        if function is not None and (function.__qualname__, function.__module__) == (
            reference.qualname,
            reference.module,
        ):
            found.append((value, function))
    return sorted(found, key=lambda entry: isinstance(entry[0], FunctionType))


def _values(module: ModuleType) -> Iterator[Any]:
    """The module's values, and those in its plain containers: kernels may be kept in a table."""
    for value in list(vars(module).values()):
        yield value
        if type(value) is dict:
            yield from list(value.values())
        elif type(value) in (list, tuple):
            yield from value


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

    pytest's importlib mode gives a test module a name by which it cannot be imported. What is installed may lie
    elsewhere than where it was recorded: there the name alone must do, and the sources are compared as always.
    """
    if not file.is_file():
        installed = _origin(name)
        if installed is None:
            raise CannotRebuildError(f"{file} is not there")
        file = installed
    if (module := sys.modules.get(name)) is not None and _is_file(module.__file__, file):
        return module
    import pytest

    try:
        return importlib.import_module(name) if _leads_to(name, file) else _load_file(name, file)
    except (Exception, pytest.skip.Exception, SystemExit) as error:  # it is the user's code: anything may come
        raise CannotRebuildError(f"importing {name} failed: {type(error).__name__}: {error}") from error


def _leads_to(name: str, file: Path) -> bool:
    origin = _origin(name)
    return origin is not None and origin.samefile(file)


def _origin(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None and Path(spec.origin).is_file() else None


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
