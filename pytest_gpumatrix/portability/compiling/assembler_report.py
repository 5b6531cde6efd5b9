"""What the assembler reports of each kernel: ``ptxas -v``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# As the reports of ptxas 12.8 to 13.5, of ptxas-blackwell, and of the assemblers inside NVRTC and nvJitLink begin.
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_USE = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalMemory:
    """What a kernel, with the functions that it calls, keeps in its threads' local memory: bytes per thread."""

    stack: int
    spill_stores: int
    spill_loads: int


def read_report(report: str) -> Mapping[str, LocalMemory]:
    """The kernels of a report by their (mangled) names; none where it holds no such report."""
    found = {}
    parts = _ENTRY.split(report)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        uses = [[int(number) for number in use] for use in _USE.findall(text)]
        if uses:
            stack, stores, loads = (sum(numbers) for numbers in zip(*uses, strict=True))
            found[name] = LocalMemory(stack=stack, spill_stores=stores, spill_loads=loads)
    return found
