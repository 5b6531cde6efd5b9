"""Hostile text for readers who may take it for Markdown, whatever they promise."""

from __future__ import annotations

import re

from pytest_gpumatrix.render.text import clean

_JOINER = "\N{WORD JOINER}"
_TRIGGER = re.compile(r"([@#]|\](?=\())")  # begins a mention, a reference or the target of a link


def tame(text: str) -> str:
    """One line of printable text in which no mention, reference or link fires."""
    return _TRIGGER.sub(rf"\1{_JOINER}", clean(text))


def bounded(text: str, longest: int) -> str:
    """A text of at most so many characters, with an ellipsis where it was cut."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def ending(name: str, longest: int) -> str:
    """A name as one line of printable text of at most so many characters; its end tells more than its beginning."""
    shown = clean(name[-longest:])
    if len(name) <= longest and len(shown) <= longest:
        return shown
    return f"…{shown[1 - longest :]}"
