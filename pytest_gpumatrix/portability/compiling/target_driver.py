"""Triton's active driver while it compiles for a GPU that is not here. Runs in a compiling process only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class _TargetDriver:
    """Knows its target alone: what else is asked of a driver needs the GPU, and is an AttributeError."""

    target: Any

    def get_current_target(self) -> Any:
        return self.target


@contextmanager
def driving(target: Any) -> Iterator[None]:
    """Code that asks which GPU it is compiled for (``tl.target_info``) is told ``target``, a ``GPUTarget``."""
    from triton.runtime import driver

    # The holder of the driver, in triton 3.4 to 3.7. Its own way back asks for the driver of a GPU, and fails here.
    before = dict(vars(driver))
    driver.set_active(_TargetDriver(target))
    try:
        yield
    finally:
        vars(driver).update(before)
