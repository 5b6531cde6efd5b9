"""Hostile text made fit to be shown, and measured in columns of a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_LONGEST = 4000
# Control, format (bidirectional marks, zero-width), surrogate, private, line and paragraph separators.
_UNSHOWABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# What takes no ink, though it is no format character: Hangul fillers, Khmer vowels, Egyptian blanks, the braille
# blank, a null notehead, a joiner, and variation selectors (but the one that makes an emoji of a sign).
_INKLESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")  # ECMA-48


def clean(text: str) -> str:
    """One line of printable text: colour codes gone, white space folded, other control characters escaped.

    What is longer than 4,000 characters is cut.
    """
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    folded = " ".join(_ESCAPE.sub("", text).split())
    return _shown(folded)


def clean_lines(text: str, *, longest: int) -> str:
    """Printable text of many lines, their indentation kept; what is longer loses its middle, which is said.

    Of a traceback the first lines say where it began and the last what it was.
    """
    if (more := len(text) - longest) > 0:
        head = longest // 3
        text = f"{text[:head]}\n[... {more:,} characters cut ...]\n{text[len(text) - (longest - head) :]}"
    lines = _ESCAPE.sub("", text).replace("\r\n", "\n").expandtabs(4).split("\n")
    return "\n".join(_shown(line) for line in lines).strip("\n")


def width(text: str) -> int:
    """Columns that a terminal gives to a cleaned text."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def fit(text: str, columns: int, *, keep_end: bool = False) -> str:
    """A cleaned text in at most so many columns, with an ellipsis where it was cut."""
    if width(text) <= columns:
        return text
    if columns < 1:
        return ""
    kept: list[str] = []
    left = columns - 1
    for char in reversed(text) if keep_end else text:
        left -= _columns(char)
        if left < 0:
            break
        kept.append(char)
    return "…" + "".join(reversed(kept)) if keep_end else "".join(kept) + "…"


def pad(text: str, columns: int) -> str:
    """A cleaned text in exactly so many columns."""
    fitted = fit(text, columns)
    return fitted + " " * (columns - width(fitted))


def wrap(text: str, columns: int, *, indent: str = "", hanging: str = "") -> list[str]:
    """A cleaned text in lines of at most so many columns; a word that is longer is cut."""
    return wrap_words(text.split(), columns, indent=indent, hanging=hanging)


def wrap_words(words: Iterable[str], columns: int, *, indent: str = "", hanging: str = "", gap: str = " ") -> list[str]:
    """Words that may hold spaces, in lines of at most so many columns."""
    lines: list[str] = []
    line, between = indent, ""
    for word in words:
        if line.strip() and width(line) + len(between) + width(word) > columns:
            lines.append(line.rstrip())
            line, between = hanging, ""
        line = fit(f"{line}{between}{word}", columns)
        between = gap
    return [*lines, line]


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _shown(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    return "".join(map(_escaped, line))


def _escaped(char: str) -> str:
    if unicodedata.category(char) not in _UNSHOWABLE and not _INKLESS.match(char):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
