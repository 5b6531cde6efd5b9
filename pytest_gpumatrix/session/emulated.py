"""The emulated columns of a session: for each device a run of its own, in which this GPU poses as it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import CutOff, GpuMatrixError
from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware.detection import Gpu
from pytest_gpumatrix.portability.compiling.machine import cache_folder
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.column_read import read_column
from pytest_gpumatrix.record.journal import SESSION
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.record.result_files import column_file_name
from pytest_gpumatrix.session.child_process import ChildProcess
from pytest_gpumatrix.session.emulated_column import collected_there_alone, completed
from pytest_gpumatrix.session.emulated_run import Folders, cache_name, command, environment
from pytest_gpumatrix.session.pose import LIFELINE
from pytest_gpumatrix.session.pytest_cache import cache_of, copy_cache


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
        (self._exchange / "results").mkdir(parents=True)
        self._pytest_cache: Path | None = None
        self._not_copied: str | None = None  # of pytest's cache
        if (cache := cache_of(config)) is not None:
            self._pytest_cache = self._exchange / "pytest-cache"
            self._not_copied = copy_cache(cache, self._pytest_cache)

    def run(
        self,
        out: Path | None,
        facts: SessionFacts,
        collected: Mapping[str, str | None],
        say: Callable[[str], None],
    ) -> Emulated:
        """One after the other: a GPU has the memory of one device.

        ``out`` is where their results go; ``collected`` are the tests that this process ran, with their gpu marks.
        """
        if problem := _release_memory():
            say(f"gpumatrix: note: this process keeps GPU memory that the emulated runs may miss: {problem}")
        if self._not_copied is not None:
            say(f"gpumatrix: note: the emulated runs begin without a part of pytest's cache: {self._not_copied}")
        columns: list[Column] = []
        for device in self._devices:
            folders = self._folders(device, out)
            try:
                code = self._follow(device, folders, say)
            except KeyboardInterrupt:
                code = None
            left, problem = self._read(device, folders, facts)
            if others := collected_there_alone(left, collected):
                say(f"gpumatrix: note: {len(others):,} tests were collected for {device.name} alone ({others[0]})")
            column = completed(left, code, collected, problem)
            if (session := column.cells.get(SESSION)) is not None:
                say(f"gpumatrix: note: {device.name}: {session.message}")
            columns.append(column)
            if code is None:
                return Emulated(columns=tuple(columns), interrupted=True)
        return Emulated(columns=tuple(columns))

    def _follow(self, device: gate.Device, folders: Folders, say: Callable[[str], None]) -> int:
        gpus = self._gpus[: device.count]
        say(f"gpumatrix: the tests again, with {gpus[0].name} posing as {device.name} ({device.profile.name})")
        cache_dir = None
        if self._pytest_cache is not None:
            cache_dir = folders.scratch / "pytest-cache"
            if problem := copy_cache(self._pytest_cache, cache_dir):
                say(f"gpumatrix: note: {device.name} begins without a part of pytest's cache: {problem}")
        child = ChildProcess(
            command(self._config, device.name, folders, cache_dir),
            environment(os.environ, gpus, folders),
            self._config.invocation_params.dir,
            LIFELINE,
        )
        return child.follow(lambda line: say(f"{device.name} | {line}"))

    def _folders(self, device: gate.Device, out: Path | None) -> Folders:
        scratch = self._exchange / "scratch" / device.name
        scratch.mkdir(parents=True)
        cache = cache_folder(os.environ, scratch) / "emulated" / cache_name(device, self._gpus[0])
        try:
            cache.mkdir(parents=True, exist_ok=True)
        except OSError:  # what is compiled lasts for this run only
            cache = scratch / "compiled"
        return Folders(out=out if out is not None else self._exchange / "results", scratch=scratch, cache=cache)

    def _read(self, device: gate.Device, folders: Folders, facts: SessionFacts) -> tuple[Column, str]:
        """The column that a run left; an empty one where it left none, and why."""
        files = {
            kind: folders.out / column_file_name(device.name, Evidence.EMULATED, kind) for kind in ("xml", "jsonl")
        }
        there = {kind: path for kind, path in files.items() if path.is_file()}
        problem = "" if "xml" in there else "it left no results"
        try:
            if there:
                return read_column(device.name, Evidence.EMULATED, there), problem
        except (CutOff, GpuMatrixError) as error:
            problem = str(error)
        return Column(device=device.name, evidence=Evidence.EMULATED, cells={}, facts=facts), problem


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
