"""Triton's interpreter, for machines without a GPU."""

from __future__ import annotations

from collections.abc import MutableMapping

import pytest

from pytest_gpumatrix.session.machine import machine_of

VARIABLE = "TRITON_INTERPRET"


def choose_interpreter(config: pytest.Config, environ: MutableMapping[str, str]) -> None:
    """Set the variable that ``@triton.jit`` reads when it decorates, if no GPU is here; unset it when the run ends."""
    if not machine_of(config).interpreting or VARIABLE in environ:
        return
    environ[VARIABLE] = "1"

    def unset() -> None:
        environ.pop(VARIABLE, None)

    config.add_cleanup(unset)
