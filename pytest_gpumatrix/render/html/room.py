"""The page's data as text, and the room that is left for it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable
from typing import Any

# What could end a script element or begin a comment in one, and what ended a line of JavaScript before 2019.
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


class Full(Exception):  # noqa: N818 - a state of the page, not a mistake
    """What was to be added no longer fits."""


def dump(value: Any) -> str:
    """JSON that may stand in a script element. ValueError: a number that is not finite (see ``figure``)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def figure(value: float) -> float | str:
    """A measured number as the page has it: to six digits, or "nan" and "inf", which JSON does not know."""
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


class Room:
    """So many bytes, taken by what is added to the page."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, value: Any) -> None:
        """Take the room of a value and a comma. Full if there is not so much."""
        size = len(dump(value).encode()) + 1
        if size > self.left:
            raise Full
        self.left -= size


class Table:
    """Values that are told once and meant by their index."""

    def __init__(self, room: Room) -> None:
        self.values: list[Any] = []
        self._room = room
        self._indices: dict[Hashable, int] = {}

    def index(self, key: Hashable, make: Callable[[], Any] | None = None) -> int:
        """Where a value is. ``key`` stands for it: it is what ``make`` gives, or the key itself."""
        if (found := self._indices.get(key)) is not None:
            return found
        value = make() if make else key
        self._room.take(value)
        self.values.append(value)
        self._indices[key] = len(self.values) - 1
        return self._indices[key]
