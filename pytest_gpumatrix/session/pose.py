"""A process whose GPU poses as a device of the matrix: from before any conftest is imported until it ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import MutableMapping

import pytest

from pytest_gpumatrix.config.device import Device
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.portability.emulation.can_pose import why_not
from pytest_gpumatrix.portability.emulation.posing import Posing
from pytest_gpumatrix.session.columns import Running, alike, as_device, posing_column, running_column
from pytest_gpumatrix.session.machine import machine_of
from pytest_gpumatrix.session.matrix import matrix_of

LIFELINE = "GPUMATRIX_LIFELINE"  # a pipe that is closed when the run that started this one is gone
_POSED = pytest.StashKey[gate.Device]()
_POSING = pytest.StashKey[Posing]()


def start_posing(config: pytest.Config, name: str, environ: MutableMapping[str, str]) -> None:
    """Begin to pose, and stop when the session ends. A device that cannot be posed here is a usage error."""
    end_with_parent(environ)
    try:
        device = as_device(_named(config, name))
        gpus = machine_of(config).detection.gpus
        reason = why_not(device, gpus[0], alike(gpus)) if gpus else machine_of(config).why_no_gpu
    except GpuMatrixError as error:
        raise pytest.UsageError(f"gpumatrix: {error}") from error
    if reason is not None:
        raise pytest.UsageError(f"gpumatrix: {name} cannot be posed as: {reason}")
    posing = Posing(device.profile)
    posing.begin()
    config.add_cleanup(posing.end)
    config.stash[_POSED], config.stash[_POSING] = device, posing


def posed_device(config: pytest.Config) -> gate.Device | None:
    """The device that this process poses as."""
    return config.stash.get(_POSED, None)


def posing_notes(config: pytest.Config) -> tuple[str, ...]:
    """What of it could not be posed."""
    posing = config.stash.get(_POSING, None)
    return posing.notes if posing is not None else ()


def running_of(config: pytest.Config) -> Running:
    """The column that this process runs."""
    detection, posed = machine_of(config).detection, posed_device(config)
    if posed is not None:
        return posing_column(detection.gpus[0], posed)
    return running_column(detection, matrix_of(config).devices)


def end_with_parent(environ: MutableMapping[str, str]) -> None:
    """End this process, and those that it started, when the run that waits for it is gone, however that ended."""
    given = environ.pop(LIFELINE, None)  # the workers of this run are its own to end
    if given is None:
        return
    lifeline = int(given)
    os.set_inheritable(lifeline, False)

    def wait() -> None:
        os.read(lifeline, 1)  # nothing is ever written: it returns when the other end is closed
        os.killpg(os.getpgrp(), signal.SIGKILL)  # a group of its own, made for this run

    threading.Thread(target=wait, name="gpumatrix-lifeline", daemon=True).start()


def _named(config: pytest.Config, name: str) -> Device:
    found = next((device for device in matrix_of(config).devices if device.name == name), None)
    if found is None:
        raise GpuMatrixError(f"--gpu-pose={name}: no such device in this matrix")
    return found
