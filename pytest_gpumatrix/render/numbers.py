"""Measured numbers for a reader."""

from __future__ import annotations

import math


def number(value: float, *, digits: int = 4) -> str:
    """So many significant digits, thousands apart; very small and very large ones by their power of ten."""
    size = abs(value)
    if 1e4 <= size < 1e12:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if value == 0 or 1e-4 <= size < 1e4 else f"{value:.3e}"


def relative(base: float, head: float) -> str:
    """How far head is from base: "+12.3%"; "from 0" where no such figure is."""
    if base == 0 or not math.isfinite(base) or not math.isfinite(head):
        return f"from {number(base)}"
    return f"{(head - base) / abs(base):+.1%}"
