"""What a function may read: the functions, classes, modules and values that its names lead to."""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

from pytest_gpumatrix.portability.tape.code_names import global_names_in, imports_in, names_in, text_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range)
_MOST_FUNCTIONS = 2000  # a helper that leads into a large library is followed no further
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: types written in Python have it


@dataclass(slots=True)
class Reach:
    """Files that hold code, and one text for each name and what it stands for, the same in every process.

    ``complete`` is False where something is within reach whose content cannot be told.
    """

    files: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class _Reader:
    """A function that reads: the names it uses, and what they have led to, which is kept so that ids stay their own."""

    names: frozenset[str]
    followed: dict[int, Any] = field(default_factory=dict)


def underlying_function(value: Any) -> FunctionType | None:
    """The Python function under Triton's wrappers (jit, interpreted, autotune, heuristics), or None."""
    while not isinstance(value, FunctionType):
        value = getattr(value, "fn", None)
        if value is None:
            return None
    return value


def reach_of(function: FunctionType) -> Reach:
    """All that the function may read, however deep.

    A name leads to a global, a variable of an enclosing function, or an attribute of what another name leads to.
    Which attribute belongs to what is not asked, so too much may be taken and nothing is missed. Triton and the
    standard library are named and not entered: their versions stand for them.
    """
    walk = _Walk()
    walk.follow("", function, _Reader(frozenset()))
    return walk.found


class _Walk:
    def __init__(self) -> None:
        self.found = Reach()
        self._functions: set[FunctionType] = set()

    def follow(self, where: str, value: Any, reader: _Reader) -> None:
        """Take in a value, and what the reader may read of it."""
        if type(value) in _PLAIN:
            self._tell(where, repr(value))
        elif id(value) in reader.followed:
            self._tell(where, _named(value))
        else:
            reader.followed[id(value)] = value
            self._follow_new(where, value, reader)

    def _follow_new(self, where: str, value: Any, reader: _Reader) -> None:
        function = underlying_function(value) if not isinstance(value, (type, ModuleType)) else None
        if _is_a_librarys(function if function is not None else value):
            self._tell(where, _named(value))
        elif function is not None:
            self._follow_function(where, function)
            if type(value).__module__.partition(".")[0] not in ("builtins", "triton"):
                self._follow_instance(where, value, reader)  # a decorator of the user's own
        elif isinstance(value, ModuleType):
            self._tell(where, _named(value))
            self._follow_names(where, vars(value), reader)
        elif isinstance(value, type):
            self._follow_class(where, value, reader)
        elif (parts := _parts(value)) is not None:
            self._tell(where, f"{_named(type(value))} of {len(parts)}")
            for name, part in parts:
                self.follow(f"{where}{name}", part, reader)
        elif (text := _text(value)) is not None:
            self._tell(where, text)
        else:
            self._follow_instance(where, value, reader)

    def _follow_function(self, where: str, function: FunctionType) -> None:
        self._tell(where, f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}")
        if function in self._functions:
            return
        if len(self._functions) >= _MOST_FUNCTIONS:
            self.found.complete = False
            return
        self._functions.add(function)
        code = function.__code__
        if code.co_filename.startswith("<") or code.co_name == "<lambda>":
            self._tell(where, text_of(code))  # generated, as a dataclass's methods are; or one of many in its line
        if not code.co_filename.startswith("<"):
            self.found.files.add(code.co_filename)
        reader = _Reader(names_in(code))
        here = function.__qualname__
        # Triton's interpreter adds names of its own to the module's: an attribute that is called so is none of them.
        own = {name: value for name, value in function.__globals__.items() if name in global_names_in(code)}
        self._follow_names(here, own, reader)
        self._follow_names(here, dict(_variables_around(function)), reader)
        for number, default in enumerate(function.__defaults__ or ()):
            self.follow(f"{here}.default{number}", default, reader)
        for name, default in sorted((function.__kwdefaults__ or {}).items()):
            self.follow(f"{here}.default.{name}", default, reader)
        if imports_in(code):
            self.found.complete = False

    def _follow_class(self, where: str, cls: type, reader: _Reader) -> None:
        self._tell(where, _named(cls))
        for base in cls.__mro__:
            if _is_a_librarys(base):
                continue
            file = getattr(sys.modules.get(base.__module__), "__file__", None)
            self.found.files.update([file] if file else [])
            own = vars(base)
            # An operator calls what it does not name: x + y is x.__add__(y).
            implicit = {name: value for name, value in own.items() if name.startswith("__") and _is_callable(value)}
            self._follow_names(where, own, reader)
            self._follow_names(where, implicit, _Reader(reader.names | implicit.keys(), reader.followed))
            if "__triton_aggregate__" in own:
                self.follow(f"{where}.annotations", dict(own.get("__annotations__", {})), reader)

    def _follow_instance(self, where: str, value: Any, reader: _Reader) -> None:
        self._follow_class(where, type(value), reader)
        slots = {name for base in type(value).__mro__ for name in _slots(base) if hasattr(value, name)}
        own = {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots}}
        foreign = any(not base.__flags__ & _HEAP_TYPE for base in type(value).__mro__ if base is not object)
        if foreign or (not slots and not hasattr(value, "__dict__")):
            self.found.complete = False
        self._follow_names(where, own, reader)

    def _follow_names(self, where: str, scope: Mapping[str, Any], reader: _Reader) -> None:
        for name in sorted(reader.names & scope.keys()):
            self.follow(f"{where}.{name}", scope[name], reader)

    def _tell(self, where: str, text: str) -> None:
        self.found.texts.add(f"{where}={text}")


def _parts(value: Any) -> list[tuple[str, Any]] | None:
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
    if hasattr(value, "__func__"):  # a method, static or not
        return [(".function", value.__func__), (".self", getattr(value, "__self__", None))]
    if type(value).__module__.startswith("triton.") and type(value).__name__ in ("constexpr", "tuple"):
        inner = value.value if type(value).__name__ == "constexpr" else tuple(value)
        return [(".value", inner)]
    return None


def _text(value: Any) -> str | None:
    """The text of a value that is told by it in every process; None for anything else."""
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, (ModuleType, type(None))):
        return _named(value)
    if (kind.__name__ == "dtype" and root in ("triton", "torch", "numpy")) or root == "typing":
        return repr(value)
    return None


def _key(key: Any) -> str:
    return repr(key) if type(key) in _PLAIN else _text(key) or _named(type(key))


def _named(value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    function = underlying_function(value) if not isinstance(value, type) else None
    named = value if isinstance(value, (type, BuiltinFunctionType)) else function or type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _is_a_librarys(value: Any) -> bool:
    """Whether a module, class or function is Triton's or the standard library's."""
    if isinstance(value, ModuleType):
        name = value.__name__
    elif isinstance(value, (type, FunctionType)):
        name = str(value.__module__)
    else:
        return False
    root = name.partition(".")[0]
    return root == "triton" or (root in sys.stdlib_module_names and _is_pythons_own(root))


def _is_pythons_own(root: str) -> bool:
    """Whether a module by a name of the standard library's comes from there: a project may have a ``code.py``."""
    file = getattr(sys.modules.get(root), "__file__", None)
    if file is None:
        return root != "__main__"
    return Path(file).is_relative_to(_STANDARD_LIBRARY) and "site-packages" not in file


def _is_callable(value: Any) -> bool:
    return isinstance(value, (FunctionType, staticmethod, classmethod)) or hasattr(value, "fn")


def _slots(base: type) -> Iterable[str]:
    slots = vars(base).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _variables_around(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
