"""What belongs to Triton and to Python's standard library, and what of it reads more than it is given."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
# Modules whose functions and objects hold nothing but what they are given: no file, no environment, no clock.
_SELF_CONTAINED = frozenset(
    {
        "__future__",
        "_thread",
        "abc",
        "bisect",
        "builtins",
        "cmath",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "math",
        "numbers",
        "operator",
        "re",
        "reprlib",
        "statistics",
        "string",
        "struct",
        "textwrap",
        "types",
        "typing",
        "warnings",
    }
)
# Of these, what looks up a name that is computed, reads a file, or runs text.
_READS_MORE = frozenset(
    {
        "__import__",
        "attrgetter",
        "breakpoint",
        "compile",
        "delattr",
        "dir",
        "eval",
        "exec",
        "getattr",
        "globals",
        "hasattr",
        "input",
        "locals",
        "methodcaller",
        "open",
        "setattr",
        "vars",
    }
)


def is_a_librarys(value: Any) -> bool:
    """Whether a module, class or function is Triton's or the standard library's."""
    root = _root(value)
    return root == "triton" or (root in sys.stdlib_module_names and _is_pythons_own(root))


def reads_more(value: Any) -> bool:
    """Whether a library's module, class or function may read what is told neither by its version nor its arguments."""
    root = _root(value)
    if root == "triton":
        return False
    outside = root not in _SELF_CONTAINED and root.removeprefix("_") not in _SELF_CONTAINED
    return outside or (not isinstance(value, ModuleType) and value.__name__ in _READS_MORE)


def is_installed(value: Any) -> bool:
    """Whether a module or class is of a package that was installed, and not of the project."""
    if not isinstance(value, (ModuleType, type)):
        return False
    module = value if isinstance(value, ModuleType) else sys.modules.get(value.__module__)
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(getattr(module, "__file__", None) or "").parts)


def _root(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return str(value.__module__).partition(".")[0]
    return ""


def _is_pythons_own(root: str) -> bool:
    """Whether a module by a name of the standard library's comes from there: a project may have a ``code.py``."""
    file = getattr(sys.modules.get(root), "__file__", None)
    if file is None:
        return root != "__main__"
    return Path(file).is_relative_to(_STANDARD_LIBRARY) and "site-packages" not in file
