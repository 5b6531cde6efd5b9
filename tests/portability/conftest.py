"""What is recorded and compiled once for all tests of launches: it takes most of their time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.portability.judging.compile_launches import Compiling, compile_launches
from pytest_gpumatrix.portability.judging.judgement import Judgement
from pytest_gpumatrix.portability.judging.plan import Wanted, capability_of
from pytest_gpumatrix.portability.tape.launch import Launch, digest
from pytest_gpumatrix.portability.tape.tape import Tape
from tests.portability.sample_run import launches_of, recorded


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """Judges launches with a cache that the session's tests share."""

    cache_dir: Path

    def judge(
        self,
        tape: Tape,
        tests: tuple[str, ...],
        devices: tuple[str, ...],
        *,
        cache_dir: Path | None = None,
        budget_seconds: float = 300.0,
        progress: Callable[[int, int], None] = lambda *_: None,
        note: Callable[[str], None] = pytest.fail,  # nothing is expected to go wrong
    ) -> Mapping[tuple[str, str], list[tuple[Launch, Judgement]]]:
        """The judged launches by test and device."""
        profiles = {device: catalogue.load().resolve(device) for device in devices}
        ran_on = capability_of(tape.header)
        wanted = [
            Wanted(digest=digest(launch.kernel), kernel=launch.kernel, devices=devices, ran_on=ran_on)
            for launch in tape.launches
            if launch.test in tests
        ]
        found = compile_launches(
            lambda: wanted,
            profiles,
            tape.header,
            Compiling(
                jobs=2,
                budget_seconds=budget_seconds,
                cache_dir=cache_dir or self.cache_dir,
                environ=os.environ,
                progress=progress,
                note=note,
            ),
        )
        return {
            (test, device): [
                (launch, found[digest(launch.kernel), device].judgement) for launch in launches_of(tape, test)
            ]
            for test in tests
            for device in devices
        }


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    """All launches of the sample, by Triton's interpreter."""
    pytest.importorskip("triton")
    return recorded(tmp_path_factory.mktemp("interpreted"), "launches", interpret=True)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    """All CUDA programs of the sample, on a machine without a GPU."""
    pytest.importorskip("cuda.core")
    return recorded(tmp_path_factory.mktemp("programs"), "programs")
