"""Text of which both ends are kept."""

from __future__ import annotations

LONGEST = 200_000  # characters of one text; a test's own record keeps 100,000
_SHORT = 2_000
_ENOUGH = 32_000_000  # characters of a file's long texts; what comes after them is kept short


def bounded(text: str, longest: int = LONGEST) -> str:
    """The text, or its two ends and how much is left out between them."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters left out ...\n{text[-half:]}"


class TextBudget:
    """How much of a file's texts is kept, so that a file of long failures does not fill the memory."""

    def __init__(self) -> None:
        self._left = _ENOUGH
        self._kept: dict[str, str] = {}

    def of(self, text: str) -> str:
        """What is kept of one text; of equal ones one."""
        kept = bounded(text, LONGEST if self._left > 0 else _SHORT)
        if kept not in self._kept:
            self._kept[kept] = kept
            self._left -= len(kept)
        return self._kept[kept]


class GrowingText:
    """A text that comes in pieces, with no more in memory than what is kept of it."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail = ""
        self._length = self._headed = 0

    def add(self, piece: str) -> None:
        """Append a piece."""
        self._length += len(piece)
        if self._headed <= LONGEST:  # one piece more than fits, so that a text that just fits stays whole
            self._head.append(piece)
            self._headed += len(piece)
        else:
            self._tail = (self._tail + piece)[-LONGEST // 2 :]

    def __str__(self) -> str:
        text = "".join(self._head)
        if not self._tail:
            return bounded(text)
        half = LONGEST // 2
        tail = (text + self._tail)[-half:]
        return f"{text[:half]}\n... {self._length - 2 * half:,} characters left out ...\n{tail}"
