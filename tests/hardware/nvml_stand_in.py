"""What every stand-in for ``pynvml`` shares: NVML's own error classes, openings counted, and questions that fail."""
# ruff: noqa: N802 - the names are NVML's

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

import pynvml


class NvmlStandIn(ModuleType):
    """It counts openings and closings. What is in ``fail`` raises."""

    def __init__(self, fail: Mapping[str, Exception]) -> None:
        super().__init__("pynvml")
        self._fail = fail
        self.open = 0
        for name in vars(pynvml):
            if name.startswith("NVMLError"):
                setattr(self, name, getattr(pynvml, name))

    def _may_fail(self, name: str) -> None:
        if name in self._fail:
            raise self._fail[name]

    def nvmlInit(self) -> None:
        self._may_fail("nvmlInit")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1
        self._may_fail("nvmlShutdown")
