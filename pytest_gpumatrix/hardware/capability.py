"""CUDA compute capability as an ordered value."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPELLINGS = re.compile(r"([0-9]{1,2})\.([0-9])|sm_?([0-9]{1,2})([0-9])")


@dataclass(frozen=True, order=True, slots=True)
class ComputeCapability:
    """A (major, minor) pair. Field order is comparison order, so 12.0 > 9.0 > 8.9."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> ComputeCapability:
        """Read "9.0", "sm90" or "sm_90".

        A bare "10" is refused: it could mean 10.0 or 1.0. So is "sm_90a",
        which names a code-generation target, not a property of a device.
        """
        match = _SPELLINGS.fullmatch(text.strip().lower())
        if match is None:
            raise ValueError(f"not a compute capability: {text!r} (write '9.0' or 'sm_90')")
        major, minor = (int(digits) for digits in match.groups() if digits is not None)
        return cls(major, minor)

    @property
    def sm(self) -> str:
        """The compiler's name of it: "sm_90"."""
        return f"sm_{self.major}{self.minor}"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"
