"""How a text is written for a terminal or a file: columns, marks, colour and encoding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_gpumatrix.render.marks import MarkSet, mark_set

_NARROWEST = 40  # columns; a narrower terminal wraps by itself


@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """How to write: columns, marks, and whether in colour."""

    columns: int
    marks: MarkSet
    colour: bool
    encoding: str

    @classmethod
    def of(cls, *, width: int, colour: bool, encoding: str | None) -> Style:
        """The style for a stream."""
        return cls(
            columns=max(width, _NARROWEST), marks=mark_set(encoding), colour=colour, encoding=encoding or "ascii"
        )

    def paint(self, text: str, code: str | None) -> str:
        """The text in a colour, if asked for."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text

    def text(self, lines: Iterable[str]) -> str:
        """The lines as one text that the stream can hold."""
        text = "\n".join(lines) + "\n"
        return text.encode(self.encoding, "replace").decode(self.encoding)
