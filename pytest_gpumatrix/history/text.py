"""Any text as SQLite can keep it, and back."""

from __future__ import annotations


def stored(text: str) -> str | bytes:
    """Text; bytes for one that UTF-8 cannot hold (a lone surrogate)."""
    encoded = text.encode("utf-8", "surrogatepass")
    try:
        encoded.decode("utf-8")
    except UnicodeDecodeError:
        return encoded
    return text


def restored(value: str | bytes) -> str:
    """What ``stored`` was given."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
