"""Sizes with a unit, "20GiB" or "160KiB", as whole bytes."""

from __future__ import annotations

import re
from fractions import Fraction

_FORM = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([KMGT]i?B)")
_BINARY_UNITS = ("KiB", "MiB", "GiB", "TiB")
_DECIMAL_UNITS = ("KB", "MB", "GB", "TB")
_FACTORS = {
    **{unit: 1024**power for power, unit in enumerate(_BINARY_UNITS, start=1)},
    **{unit: 1000**power for power, unit in enumerate(_DECIMAL_UNITS, start=1)},
}


def parse_size(text: str) -> int:
    """Read "20GiB", "24 GB" or "1.5 MiB" as bytes. A KiB is 1,024 bytes, a KB 1,000.

    ValueError, with the right form, for a bare number, an unknown unit, nothing, and a part of a byte.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a size: {text!r} (write a number and one of {', '.join(_FACTORS)}: '20GiB')")
    number, unit = match.groups()
    size = Fraction(number) * _FACTORS[unit]
    if size <= 0 or size.denominator != 1:
        raise ValueError(f"not a size: {text!r} (it must be a whole number of bytes, and more than none)")
    return int(size)


def format_size(size: int) -> str:
    """Bytes for people, to four digits: "99 KiB", "23.99 GiB"."""
    if abs(size) < 1024:
        return f"{size} B"
    power = 1
    while abs(size) >= 1024 ** (power + 1) and power < len(_BINARY_UNITS):
        power += 1
    return f"{size / 1024**power:.4g} {_BINARY_UNITS[power - 1]}"
