"""PEP 440 specifiers over compute capabilities."""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from pytest_gpumatrix.hardware.capability import ComputeCapability

_CLAUSE = re.compile(r"\s*(?:~=|==|!=|<=|>=|<|>)\s*(\d{1,3})(?:\.(\d))?(?:\.\*)?\s*")
_NEWEST_MAJOR = 20  # a larger "major" is a capability written without its dot


def parse_capabilities(text: str) -> SpecifierSet:
    """Read ">=9.0", ">=8.0,<9" or "==8.*". ValueError, with the right form, for anything else, and for ">=90"."""
    clauses = [_CLAUSE.fullmatch(clause) for clause in text.split(",")]
    for clause in clauses:
        if clause is None:
            raise ValueError(f"not a specifier over compute capabilities: {text!r} (write '>=9.0' or '>=8.0,<9.0')")
        if int(clause[1]) > _NEWEST_MAJOR:
            raise ValueError(f"{text!r}: write the capability with a dot, such as {clause[1][:-1]}.{clause[1][-1]}")
    try:
        return SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"not a specifier: {text!r} (write '>=9.0' or '>=8.0,<9.0')") from error


def allows(capabilities: SpecifierSet, capability: ComputeCapability) -> bool:
    """Whether a specifier over capabilities holds for one."""
    return capabilities.contains(Version(str(capability)))
