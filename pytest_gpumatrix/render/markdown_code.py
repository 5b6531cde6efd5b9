"""A hostile text as one Markdown code span."""

from __future__ import annotations

import re

from pytest_gpumatrix.render.text import clean

LONGEST = 300  # characters of a name, message or command
_JOINER = "\N{WORD JOINER}"
# What could begin a mention, a reference or a tag where a reader does not know of code spans.
_TRIGGER = re.compile("([@#<])")


def code(text: str, *, longest: int = LONGEST) -> str:
    """One line, no bar, and nothing that fires inside or outside of it; empty for an empty text."""
    shown = clean(text)
    if len(shown) > longest:
        shown = f"{shown[:longest]}…"
    shown = _TRIGGER.sub(rf"\1{_JOINER}", shown.replace("|", "\N{DIVIDES}"))
    if not shown:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"
