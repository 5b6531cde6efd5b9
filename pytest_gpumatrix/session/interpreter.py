"""Triton's interpreter, for machines without a GPU."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.session.machine import Machine, machine_of

VARIABLE = "TRITON_INTERPRET"


def choose_interpreter(config: pytest.Config, environ: MutableMapping[str, str]) -> None:
    """Set the variable that ``@triton.jit`` reads when it decorates, if no GPU is here; unset it when the run ends."""
    if not machine_of(config).interpreting or VARIABLE in environ:
        return
    environ[VARIABLE] = "1"

    def unset() -> None:
        environ.pop(VARIABLE, None)

    config.add_cleanup(unset)


def refuse_interpreted_gpu(machine: Machine, environ: Mapping[str, str]) -> None:
    """A kernel that is interpreted did not run on the GPU: its result would be no native one."""
    if machine.detection.gpus and environ.get(VARIABLE, "").lower() in ("1", "true", "on", "yes", "y"):
        name = machine.detection.gpus[0].name
        raise GpuMatrixError(f"{VARIABLE} is set on a machine with a GPU ({name}): unset it, or hide the GPU")
