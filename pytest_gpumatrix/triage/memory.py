"""Whose memory it was: the arithmetic of an out-of-memory text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_S = r"(\d{1,6}(?:\.\d{1,4})?) ?([kmgt]?)i?b(?:ytes)?"
_REQUEST = re.compile(rf"tried to allocate {_S}")
_TOTAL = re.compile(rf"total capaci?ty of {_S}|{_S} total capacity")
_FREE = re.compile(rf"of which {_S} is free|; {_S} free")
_THIS = re.compile(rf"this process has {_S} memory in use")
_LISTED = re.compile(rf"\bprocess \d{{1,10}} has {_S} memory in use")
_ALLOCATED = re.compile(rf"{_S} is allocated by pytorch|{_S} already allocated")
_RESERVED = re.compile(rf"{_S} is reserved by pytorch but unallocated")
_RESERVED_TOTAL = re.compile(rf"{_S} reserved in total")
_CONTEXT = 2**30  # what a CUDA context and its libraries take beside the allocator, at most


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryText:
    """The sizes of PyTorch's text, in bytes; None where it does not say."""

    request: int | None
    total: int | None
    free: int | None
    own: int | None
    listed: tuple[int, ...]  # what the listed processes hold

    @property
    def others(self) -> int | None:
        """What other processes hold, or None where the text does not say.

        In a container the process cannot find itself by its number: it is listed like another. A single listed process
        that holds what this one has allocated, or all that is used, is this one.
        """
        if self.total is None or self.free is None:
            return None
        used = self.total - self.free
        own = self.own
        if own is None:
            if len(self.listed) != 1 or used - self.listed[0] > _CONTEXT:
                return None
            own = used
        return max(0, used - own)

    @property
    def shared(self) -> bool:
        """Whether the request would have fit without the other processes, which hold more than a display takes."""
        others = self.others
        if others is None or self.total is None or self.free is None:
            return False
        return others > max(2**30, self.total // 10) and (self.request or 0) <= self.free + others


def memory_text(text: str) -> MemoryText:
    """Read a text in lower case."""
    allocated = _size(_ALLOCATED, text)
    reserved_total = _size(_RESERVED_TOTAL, text)
    own = _size(_THIS, text)
    if own is None and reserved_total is not None:
        own = reserved_total + _CONTEXT
    if own is None and allocated is not None:
        own = allocated + (_size(_RESERVED, text) or 0) + _CONTEXT
    return MemoryText(
        request=_size(_REQUEST, text),
        total=_size(_TOTAL, text),
        free=_size(_FREE, text),
        own=own,
        listed=tuple(_bytes(match) for match in _LISTED.finditer(text)),
    )


def _size(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return _bytes(match) if match else None


def _bytes(match: re.Match[str]) -> int:
    number, unit = (part for part in match.groups() if part is not None)
    return int(float(number) * _UNITS[unit])
