"""A process whose GPU poses as a device of the matrix: from before any conftest is imported until it ends."""

from __future__ import annotations

import os
import signal
import sys
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
SCRATCH = "GPUMATRIX_SCRATCH"  # a folder of the run that started this one, which removes it however this one ends
_POSED = pytest.StashKey[gate.Device]()
_POSING = pytest.StashKey[Posing]()
_SCRATCH = pytest.StashKey[str]()


def start_posing(config: pytest.Config, name: str, environ: MutableMapping[str, str]) -> None:
    """Begin to pose, and stop when the session ends. A device that cannot be posed here is a usage error."""
    end_with_parent(environ)
    if (scratch := environ.pop(SCRATCH, None)) is not None:  # a run that a test starts has a folder of its own
        config.stash[_SCRATCH] = scratch
    try:
        device = as_device(_named(config, name))
        gpus = machine_of(config).detection.gpus
        reason = why_not(device, gpus[0], alike(gpus)) if gpus else machine_of(config).why_no_gpu
    except GpuMatrixError as error:
        raise pytest.UsageError(f"gpumatrix: {error}") from error
    if reason is not None:
        raise pytest.UsageError(f"gpumatrix: {name} cannot be posed as: {reason}")
    posing = Posing(device.profile)
    config.add_cleanup(lambda: _end(posing))
    posing.begin()
    config.stash[_POSED], config.stash[_POSING] = device, posing


def _end(posing: Posing) -> None:
    """The process ends as well: what a CUDA that a test left broken cannot put back is no failure of the run."""
    try:
        posing.end()
    except RuntimeError as error:
        print(f"gpumatrix: note: the card is not as it was: {str(error).splitlines()[0]}", file=sys.stderr)


def posed_device(config: pytest.Config) -> gate.Device | None:
    """The device that this process poses as."""
    return config.stash.get(_POSED, None)


def scratch_of(config: pytest.Config) -> str | None:
    """Where this process may keep files until it ends, if the run that started it has said so."""
    return config.stash.get(_SCRATCH, None)


def never_ask(config: pytest.Config) -> None:
    """Nobody is at the keyboard of a run that another one starts: no --pdb, no --trace, whoever has set them."""
    config.option.usepdb = config.option.trace = False


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
