"""Architecture-specific compiler targets, and the devices that run what is built for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_gpumatrix.hardware.capability import ComputeCapability

# Which capabilities run code built for a family-specific target: its own and the later ones of the same family.
# Source: PTX ISA 9.0, "PTX Module Directives: .target", table of family-specific architectures
# (https://docs.nvidia.com/cuda/parallel-thread-execution/#ptx-module-directives-target).
_FAMILIES: dict[str, tuple[tuple[int, int], ...]] = {
    "100f": ((10, 0), (10, 3)),
    "103f": ((10, 3),),
    "110f": ((11, 0),),
    "120f": ((12, 0), (12, 1)),
    "121f": ((12, 1),),
}
# The first capability with architecture-specific ("a") targets; the same source.
_FIRST_SPECIFIC = ComputeCapability(9, 0)
_SPELLING = re.compile(r"sm_?(\d{1,2})(\d)([af])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A compiler target such as sm_90a or sm_100f, and what runs its code."""

    name: str
    capabilities: tuple[ComputeCapability, ...]

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read "sm_90a" (exactly 9.0) or "sm_100f" (the family of 10.0); ValueError for any other text."""
        match = _SPELLING.fullmatch(text.strip().lower())
        if match is None:
            raise ValueError(f"not an architecture-specific target: {text!r} (write 'sm_90a' or 'sm_100f')")
        major, minor, kind = match.groups()
        capability = ComputeCapability(int(major), int(minor))
        name = f"{capability.sm}{kind}"
        if kind == "a":
            if capability < _FIRST_SPECIFIC:
                raise ValueError(f"there is no target {name}: the 'a' targets begin with sm_90a")
            return cls(name=name, capabilities=(capability,))
        family = _FAMILIES.get(f"{major}{minor}f")
        if family is None:
            known = ", ".join(f"sm_{key}" for key in _FAMILIES)
            raise ValueError(f"there is no family target {name}; known: {known}")
        return cls(name=name, capabilities=tuple(ComputeCapability(*member) for member in family))
