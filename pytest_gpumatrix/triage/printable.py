"""Text of the code under test, as UTF-8 can hold it."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text, a lone surrogate (as of a file name that is no text) written as its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
