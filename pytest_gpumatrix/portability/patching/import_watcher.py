"""Runs a function on a module as soon as it has been imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class ImportWatcher:
    """A finder on ``sys.meta_path`` that finds nothing itself. Modules that are there already are seen at once."""

    def __init__(self, seen: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self._seen = seen
        self._finding: set[str] = set()

    def install(self) -> None:
        """Begin to watch."""
        sys.meta_path.insert(0, self)
        for name, function in self._seen.items():
            if (module := sys.modules.get(name)) is not None:
                function(module)

    def uninstall(self) -> None:
        """Stop."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - importlib's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Let the other finders find a watched module, and follow its loader."""
        if name not in self._seen or name in self._finding:
            return None
        self._finding.add(name)
        try:
            spec = find_spec(name)
        finally:
            self._finding.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            _follow(spec.loader, self._seen[name])
        return spec


def _follow(loader: Any, function: Callable[[ModuleType], None]) -> None:
    execute = loader.exec_module
    own = vars(loader).get("exec_module")  # another watcher's, which sees the same module

    def exec_module(module: ModuleType) -> None:
        if own is None:
            del loader.exec_module  # ours is an attribute of the instance: back to the class's own
        else:
            loader.exec_module = own
        execute(module)
        function(module)

    loader.exec_module = exec_module  # a loader is made for one module
