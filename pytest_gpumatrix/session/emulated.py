"""The emulated columns of a session: for each device a run of its own, in which this GPU poses as it."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware.detection import Gpu
from pytest_gpumatrix.portability.compiling.machine import cache_folder
from pytest_gpumatrix.record.cell import Cell
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.journal import SESSION
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.record.results import column_file_name, read_column
from pytest_gpumatrix.session.child_process import ChildProcess
from pytest_gpumatrix.session.emulated_run import Folders, cache_name, command, environment
from pytest_gpumatrix.session.pose import LIFELINE


@dataclass(frozen=True, kw_only=True, slots=True)
class Emulated:
    """What the runs left. ``interrupted``: the user stopped one of them, and those after it did not begin."""

    columns: tuple[Column, ...]
    interrupted: bool = False


class EmulatedRuns:
    """Made before the tests run, for what they change: pytest's cache says which tests failed last."""

    def __init__(
        self, config: pytest.Config, devices: Sequence[gate.Device], gpus: Sequence[Gpu], exchange: Path
    ) -> None:
        self._config, self._devices = config, devices
        self._gpus = [gpu for gpu in gpus if gpu.name == gpus[0].name]
        self._exchange = exchange / "emulated"
        self._exchange.mkdir()
        self._cache_dir = self._copied_cache()

    def run(self, out: Path | None, facts: SessionFacts, say: Callable[[str], None]) -> Emulated:
        """One after the other: a GPU has the memory of one device. ``out`` is where their results go."""
        if problem := _release_memory():
            say(f"gpumatrix: note: this process keeps GPU memory that the emulated runs may miss: {problem}")
        columns: list[Column] = []
        for device in self._devices:
            folders = self._folders(device, out)
            try:
                code = self._follow(device, folders, say)
            except KeyboardInterrupt:
                columns.append(self._read(device, folders, facts, "the run was interrupted"))
                return Emulated(columns=tuple(columns), interrupted=True)
            columns.append(self._read(device, folders, facts, f"the run for it ended with {_how(code)}"))
        return Emulated(columns=tuple(columns))

    def _follow(self, device: gate.Device, folders: Folders, say: Callable[[str], None]) -> int:
        gpus = self._gpus[: device.count]
        say(f"gpumatrix: the tests again, with {gpus[0].name} posing as {device.name} ({device.profile.name})")
        cache_dir = self._cache_dir
        if cache_dir is not None:
            shutil.copytree(cache_dir, folders.scratch / "cache", dirs_exist_ok=True)
            cache_dir = folders.scratch / "cache"
        child = ChildProcess(
            command(self._config, device.name, folders, cache_dir),
            environment(os.environ, gpus, folders),
            self._config.invocation_params.dir,
            LIFELINE,
        )
        return child.follow(lambda line: say(f"{device.name} | {line}"))

    def _folders(self, device: gate.Device, out: Path | None) -> Folders:
        scratch = self._exchange / device.name
        scratch.mkdir()
        cache = cache_folder(os.environ, scratch) / "emulated" / cache_name(device, self._gpus[0])
        try:
            cache.mkdir(parents=True, exist_ok=True)
        except OSError:  # what is compiled lasts for this run only
            cache = scratch / "compiled"
        return Folders(out=out if out is not None else self._exchange, scratch=scratch, cache=cache)

    def _read(self, device: gate.Device, folders: Folders, facts: SessionFacts, why: str) -> Column:
        """The column that a run left; where it left none, one that says so."""
        files = {
            kind: folders.out / column_file_name(device.name, Evidence.EMULATED, kind) for kind in ("xml", "jsonl")
        }
        there = {kind: path for kind, path in files.items() if path.is_file()}
        message = f"nothing is known of {device.name}: {why}"
        try:
            if there:
                column = read_column(device.name, Evidence.EMULATED, there)
                if column.cells:
                    return column
        except (CutOff, GpuMatrixError) as error:
            message = f"{message}; {error}"
        unknown = Cell(test=SESSION, outcome=Outcome.UNKNOWN, evidence=Evidence.EMULATED, message=message)
        return Column(device=device.name, evidence=Evidence.EMULATED, cells={SESSION: unknown}, facts=facts)

    def _copied_cache(self) -> Path | None:
        if not self._config.pluginmanager.hasplugin("cacheprovider"):
            return None
        copy = self._exchange / "pytest-cache"
        copy.mkdir()
        own = self._config.rootpath / os.path.expandvars(str(self._config.getini("cache_dir")))
        if (own / "v" / "cache").is_dir():
            shutil.copytree(own / "v" / "cache", copy / "v" / "cache")
        return copy


def _release_memory() -> str | None:
    """What this process keeps of the GPU for later is not free for the one that poses. Why it could not be let go."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    gc.collect()
    try:
        torch.cuda.empty_cache()
    except RuntimeError as error:  # a test left CUDA broken
        return str(error).splitlines()[0]
    return None


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
