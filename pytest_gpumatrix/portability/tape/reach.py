"""What a function may read: the functions, classes, modules and values that its names lead to."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import (
    BuiltinFunctionType,
    FunctionType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any

from pytest_gpumatrix.portability.tape.code_names import global_names_in, imports_in, names_in, text_of
from pytest_gpumatrix.portability.tape.library import is_a_librarys, is_installed, reads_more
from pytest_gpumatrix.portability.tape.value_parts import PLAIN, named, parts_of, text_of_value, underlying_function

_MOST_FUNCTIONS = 2000  # a helper that leads into a large library is followed no further
_DEEPEST = 60  # values within values; each is some calls deep, of the 1000 that Python allows
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: types written in Python have it


@dataclass(slots=True)
class Reach:
    """Files that hold code, and one text for each name and what it stands for, the same in every process.

    ``complete`` is False where something is within reach whose content cannot be told.
    """

    files: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    complete: bool = True


def reach_of(function: FunctionType) -> Reach:
    """All that the function may read, however deep.

    A name leads to a global, a variable of an enclosing function, or an attribute of what another name leads to.
    Which attribute belongs to what is not asked, nor which function reads it, so too much may be taken and nothing is
    missed; of a package that was installed, as torch is, a function reads what it names itself. All that an object
    holds is taken. Triton and the standard library are named and not entered: their versions stand for them.
    """
    walk = _Walk()
    walk.follow("", function, frozenset())
    walk.follow_what_was_named_later()
    return walk.found


class _Walk:
    """``names`` are those that the function uses that reads a value."""

    def __init__(self) -> None:
        self.found = Reach()
        self._functions: set[FunctionType] = set()
        self._names: set[str] = set()  # of all functions
        self._scopes: list[tuple[str, Mapping[str, Any]]] = []  # modules and classes, of which they may read any
        self._followed: dict[tuple[int, frozenset[str] | None], Any] = {}  # kept, so that ids stay their own
        self._depth = 0

    def follow(self, where: str, value: Any, names: frozenset[str]) -> None:
        """Take in a value, and what may be read of it."""
        key = (id(value), names if is_installed(value) else None)
        if type(value) in PLAIN:
            self._tell(where, repr(value))
        elif key in self._followed:
            self._tell(where, named(value))
        elif self._depth >= _DEEPEST:
            self._tell(where, named(value))
            self.found.complete = False
        else:
            self._followed[key] = value
            self._depth += 1
            self._follow_new(where, value, names)
            self._depth -= 1

    def follow_what_was_named_later(self) -> None:
        """Attributes that one function names, of what another one reads and may have given to it."""
        known = -1
        while known != len(self._names) + len(self._scopes):
            known = len(self._names) + len(self._scopes)
            for where, scope in tuple(self._scopes):
                self._follow_names(where, scope, frozenset(self._names))

    def _follow_new(self, where: str, value: Any, names: frozenset[str]) -> None:
        function = underlying_function(value) if not isinstance(value, (type, ModuleType)) else None
        if is_a_librarys(known := function if function is not None else value):
            self._tell(where, named(value))
            self.found.complete &= not reads_more(known)
        elif function is not None:
            self._follow_function(where, function)
            if type(value).__module__.partition(".")[0] not in ("builtins", "triton"):
                self._follow_instance(where, value, names)  # a decorator of the user's own
        elif isinstance(value, ModuleType):
            self._tell(where, named(value))
            self._follow_scope(where, value, vars(value), names)
        elif isinstance(value, type):
            self._follow_class(where, value, names)
        elif (parts := parts_of(value)) is not None:
            self._tell(where, f"{named(type(value))} of {len(parts)}")
            for name, part in parts:
                self.follow(f"{where}{name}", part, names)
            if not is_a_librarys(type(value)):
                self._follow_class(where, type(value), names)
                self._follow_held(where, value, names)
        elif (text := text_of_value(value)) is not None:
            self._tell(where, text)
            self.found.complete &= not isinstance(value, BuiltinFunctionType)  # an extension's: who knows what it reads
        else:
            self._follow_instance(where, value, names)

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
        names, here = names_in(code), function.__qualname__
        self._names |= names
        # Triton's interpreter adds names of its own to the module's: an attribute that is called so is none of them.
        own = {name: value for name, value in function.__globals__.items() if name in global_names_in(code)}
        self._follow_names(here, own, names)
        self._follow_names(here, dict(_variables_around(function)), names)
        for number, default in enumerate(function.__defaults__ or ()):
            self.follow(f"{here}.default{number}", default, names)
        for name, default in sorted((function.__kwdefaults__ or {}).items()):
            self.follow(f"{here}.default.{name}", default, names)
        if imports_in(code) or any(map(_is_a_builtin_that_reads_more, global_names_in(code) - own.keys())):
            self.found.complete = False

    def _follow_class(self, where: str, cls: type, names: frozenset[str]) -> None:
        self._tell(where, named(cls))
        for base in cls.__mro__:
            if is_a_librarys(base):
                continue
            file = getattr(sys.modules.get(base.__module__), "__file__", None)
            self.found.files.update([file] if file else [])
            own = vars(base)
            self._follow_scope(where, base, own, names)
            # An operator calls what it does not name: x + y is x.__add__(y).
            implicit = {name: value for name, value in own.items() if name.startswith("__") and _is_callable(value)}
            self._follow_names(where, implicit, names | implicit.keys())
            if "__triton_aggregate__" in own:
                self.follow(f"{where}.annotations", dict(own.get("__annotations__", {})), names)

    def _follow_instance(self, where: str, value: Any, names: frozenset[str]) -> None:
        self._follow_class(where, type(value), names)
        if any(map(_may_hold_more, type(value).__mro__)) or not self._follow_held(where, value, names):
            self.found.complete = False

    def _follow_held(self, where: str, value: Any, names: frozenset[str]) -> bool:
        """All of an object's attributes; whether it can have any."""
        slots = {
            name: slot
            for base in type(value).__mro__
            for name, slot in vars(base).items()
            if isinstance(slot, MemberDescriptorType) and base.__flags__ & _HEAP_TYPE
        }
        held = dict(getattr(value, "__dict__", {}))
        for name, slot in slots.items():
            with suppress(AttributeError):  # not assigned yet
                held[name] = slot.__get__(value)
        self._follow_names(where, held, names | held.keys())
        return bool(slots) or hasattr(value, "__dict__")

    def _follow_scope(self, where: str, value: Any, scope: Mapping[str, Any], names: frozenset[str]) -> None:
        if not is_installed(value):
            self._scopes.append((where, scope))
            names |= {"__getattr__"}  # a module's function of this name is asked for what it has not
        self._follow_names(where, scope, names)

    def _follow_names(self, where: str, scope: Mapping[str, Any], names: frozenset[str]) -> None:
        for name in sorted(names & scope.keys()):
            self.follow(f"{where}.{name}", scope[name], names)

    def _tell(self, where: str, text: str) -> None:
        self.found.texts.add(f"{where}={text}")


def _is_a_builtin_that_reads_more(name: str) -> bool:
    value = getattr(builtins, name, None)
    return isinstance(value, BuiltinFunctionType) and reads_more(value)


def _may_hold_more(base: type) -> bool:
    """Whether instances of a class hold what no attribute of theirs tells: it is written in C, or Python's own."""
    if base is object or base.__module__ in ("abc", "typing"):
        return False
    return not base.__flags__ & _HEAP_TYPE or (is_a_librarys(base) and not base.__module__.startswith("triton."))


def _is_callable(value: Any) -> bool:
    return isinstance(value, (FunctionType, staticmethod, classmethod)) or hasattr(value, "fn")


def _variables_around(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
