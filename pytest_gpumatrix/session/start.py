"""Brings a session together: what pytest's configuration asks for -> the plugins that do it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError, InfraError
from pytest_gpumatrix.session import columns as choose
from pytest_gpumatrix.session.gating import Gate
from pytest_gpumatrix.session.interpreter import refuse_interpreted_gpu
from pytest_gpumatrix.session.loaded import TellLoaded
from pytest_gpumatrix.session.machine import Machine, machine_of, note_gpu_at_start, worker_id
from pytest_gpumatrix.session.matrix import Matrix, matrix_of
from pytest_gpumatrix.session.pose import never_ask, posed_device, running_of

_GATE = "gpumatrix-gate"
_MORE_RESTARTS = "100000"  # xdist gives up after four crashes a worker, and drops the tests that are left


def start_gating(config: pytest.Config, items: list[pytest.Item], marked: Sequence[pytest.Item]) -> None:
    """Register the gate, if it is not there yet, and put tests that are run in order to fail last."""
    from pytest_gpumatrix.session.marked import read_marks

    if problems := read_marks(marked):
        raise pytest.UsageError("\n".join(problems))
    gate = config.pluginmanager.get_plugin(_GATE) or _register_gate(config, _machine_and_matrix(config)[1])
    # A kernel that faults may leave the CUDA context broken for every test after it.
    to_fail = {item for item in marked if gate.expected(item) is not None}
    items.sort(key=lambda item: item in to_fail)


def start_matrix(config: pytest.Config) -> None:
    """Register what --gpu-matrix needs: in each process that runs tests, and in the one that reports."""
    from pytest_gpumatrix.session.built_in_metrics import BuiltInMetrics
    from pytest_gpumatrix.session.controller import MatrixController
    from pytest_gpumatrix.session.launches import LaunchRecording
    from pytest_gpumatrix.session.reports import ReportNotes

    machine, matrix = _machine_and_matrix(config)
    note_gpu_at_start(config)
    chosen = _choose(config, machine, matrix)
    if posed_device(config) is not None:
        never_ask(config)
    _register_gate(config, matrix)
    config.pluginmanager.register(ReportNotes(), "gpumatrix-notes")
    config.pluginmanager.register(LaunchRecording(config, chosen, matrix), "gpumatrix-launches")
    config.pluginmanager.register(BuiltInMetrics(config), "gpumatrix-metrics")
    if worker_id(config) is not None:
        config.pluginmanager.register(TellLoaded(), "gpumatrix-loaded")
    else:
        if getattr(config.option, "maxworkerrestart", "") is None:
            config.option.maxworkerrestart = _MORE_RESTARTS
        out = _output_folder(config)
        config.pluginmanager.register(MatrixController(config, machine, matrix, chosen, out), "gpumatrix-controller")


def _machine_and_matrix(config: pytest.Config) -> tuple[Machine, Matrix]:
    try:
        machine, matrix = machine_of(config), matrix_of(config)
        _refuse_what_cannot_be_told(config, machine)
    except GpuMatrixError as error:
        raise pytest.UsageError(f"gpumatrix: {error}") from error
    return machine, matrix


def _choose(config: pytest.Config, machine: Machine, matrix: Matrix) -> choose.Columns:
    try:
        refuse_interpreted_gpu(machine, os.environ)
        if (posed := posed_device(config)) is not None:
            return choose.Columns(running=running_of(config), compiled=(posed,), notes=machine.detection.notes)
        if config.getoption("--gpu-native"):
            return choose.native_column(machine.detection, matrix.devices)
        emulate = bool(config.getoption("--gpu-devices")) and hasattr(os, "waitid")  # not on Windows: see ChildProcess
        return choose.choose_columns(machine.detection, matrix.devices, emulate=emulate)
    except InfraError as error:
        pytest.exit(f"gpumatrix: {error}", returncode=error.exit_code)
    except GpuMatrixError as error:
        raise pytest.UsageError(f"gpumatrix: {error}") from error


def _register_gate(config: pytest.Config, matrix: Matrix) -> Gate:
    gate = Gate(config, running_of(config), matrix)
    config.pluginmanager.register(gate, _GATE)
    return gate


def _refuse_what_cannot_be_told(config: pytest.Config, machine: Machine) -> None:
    if machine.detection.ambiguity is not None:
        raise GpuMatrixError(machine.detection.ambiguity)
    if worker_id(config) is not None or getattr(config.option, "numprocesses", None):
        choose.refuse_mixed_workers(machine.detection)


def _output_folder(config: pytest.Config) -> Path | None:
    """The folder to write to, made and tried, before any test runs."""
    name = config.getoption("--gpu-matrix-out")
    if name is None:
        return None
    folder = config.invocation_params.dir / str(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise pytest.UsageError(f"--gpu-matrix-out: cannot write to {folder}: {reason}") from error
    return folder
