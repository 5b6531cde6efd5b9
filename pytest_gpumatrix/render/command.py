"""A command in lines of a width, so that what is copied from a terminal still runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_gpumatrix.render.text import width

_TOKEN = re.compile(r"\\x[0-9a-f]{2}|.", re.DOTALL)


def command_lines(words: Sequence[str], columns: int) -> list[str]:
    """Quoted words, joined. Lines end in a backslash; a word that is too long is cut between two quoted halves."""
    lines: list[str] = []
    line = ""
    for word in words:
        longer = f"{line} {word}" if line else word
        if width(longer) + 2 <= columns:
            line = longer
            continue
        if line:
            lines.append(f"{line} \\")
        *full, line = _pieces(word, columns - 2)
        lines += [f"{piece}\\" for piece in full]
    return [*lines, line]


def _pieces(word: str, columns: int) -> list[str]:
    """A quoted word as quoted pieces that a shell joins again."""
    if width(word) <= columns:
        return [word]
    opening, body = "'", word
    if word.endswith("'"):
        opening = word[: word.index("'") + 1]
        body = word[len(opening) : -1]
    pieces: list[str] = []
    piece = opening
    for token in _TOKEN.findall(body):
        if width(piece) + width(token) + 1 > columns:
            pieces.append(f"{piece}'")
            piece = opening
        piece += token
    return [*pieces, f"{piece}'"]
