"""Attributes of other packages that were replaced, and put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING = object()


class Patches:
    """Replaced attributes. After ``undo`` what we put there passes calls through, even if it could not be removed."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, Any]] = []
        self.active = True

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Set ``owner.name`` to what ``make`` makes of it."""
        original = getattr(owner, name)
        own = vars(owner).get(name, _MISSING)
        replacement = make(original)
        setattr(owner, name, replacement)
        self._undo.append((owner, name, own, replacement))
        self.active = True

    def undo(self) -> None:
        """Put back what was there, except where somebody else has replaced ours since: they may be calling it."""
        self.active = False
        for owner, name, own, replacement in reversed(self._undo):
            if vars(owner).get(name) is not replacement:
                continue
            if own is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
        self._undo.clear()
