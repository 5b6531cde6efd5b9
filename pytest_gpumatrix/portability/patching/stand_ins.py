"""Puts a class or function of ours in the place of a compiled one, whose methods cannot be replaced."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pytest_gpumatrix.portability.patching.patches import Patches


class StandIns:
    """What stands in for what. ``package`` is the one whose own modules are left as they are.

    A module that took the original before us is given ours too; one that is kept anywhere but among a module's names
    (an attribute, a default argument) is not seen.
    """

    def __init__(self, patches: Patches, package: str) -> None:
        self._patches = patches
        self._package = f"{package}."
        self._ours: dict[Any, Any] = {}  # the original -> what stands in its place

    def put(self, module: ModuleType, name: str, make: Callable[[Any], Any]) -> None:
        """Set ``module.name``, and every other name for it, to what ``make`` makes of it, once."""
        original = getattr(module, name)
        if original in self._ours.values():
            return
        ours = self._ours.setdefault(original, make(original))
        holders = [holder for name, holder in list(sys.modules.items()) if not name.startswith(self._package)]
        for holder in [module, *holders]:
            names = vars(holder).items() if isinstance(holder, ModuleType) else ()
            for alias in [alias for alias, value in names if value is original]:
                self._patches.replace(holder, alias, lambda _: ours)


def named_like(ours: type[Any], original: type[Any]) -> type[Any]:
    """The class, with the name and docstring of the one that it stands in for."""
    ours.__module__, ours.__qualname__, ours.__doc__ = original.__module__, original.__qualname__, original.__doc__
    return ours
