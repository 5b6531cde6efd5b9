"""What triage is told of the device, on machines that are made up."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.detection import Detection, Gpu
from pytest_gpumatrix.hardware.gpu_state import GpuProcess, GpuState, Silence
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.session import triage_facts
from pytest_gpumatrix.session.columns import Running
from pytest_gpumatrix.session.machine import Machine
from pytest_gpumatrix.session.triage_facts import described, device_facts, state_at_failure

GIB = 2**30
H100, RTX3090 = catalogue.load().resolve("h100-sxm"), catalogue.load().resolve("rtx-3090")
GPU = Gpu(
    index=0,
    name="NVIDIA H100 80GB HBM3",
    uuid="GPU-1",
    capability=H100.capability,
    memory=80 * GIB,
    sm_count=132,
    mig=False,
    profile=H100,
)
NATIVE = Running(device="h100", gpu=GPU, view=gate.Device(name="h100", profile=H100, memory=80 * GIB, count=1))
POSING = Running(
    device="rtx3090",
    gpu=GPU,
    view=gate.Device(name="rtx3090", profile=RTX3090, memory=24 * GIB, count=1),
    evidence=Evidence.EMULATED,
)
START = GpuState(total=80 * GIB, free=70 * GIB, used=10 * GIB)
NOW = GpuState(
    total=80 * GIB,
    free=5 * GIB,
    used=75 * GIB,
    processes=(GpuProcess(pid=os.getpid(), memory=65 * GIB), GpuProcess(pid=1, memory=10 * GIB)),
    display=False,
)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what there is: a running column, the GPU at the start, what torch holds, what stands in between."""

    def given(
        running: Running, *, at_start: GpuState | None = START, reserved: int | None = 60 * GIB, between: str = ""
    ) -> Any:
        gpus = (running.gpu,) if running.gpu is not None else ()
        detection = Detection(gpus=gpus, reason=None, driver_version="580.1")
        monkeypatch.setattr(triage_facts, "machine_of", lambda _: Machine(detection=detection, interpreting=False))
        monkeypatch.setattr(triage_facts, "running_of", lambda _: running)
        monkeypatch.setattr(triage_facts, "gpu_at_start", lambda _: at_start)
        monkeypatch.setattr(triage_facts, "platforms", lambda _: between.split())
        cuda = SimpleNamespace(is_initialized=lambda: reserved is not None, memory_reserved=lambda _: reserved)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, __version__="2.9"))
        for name in triage_facts._CUDA_LIBRARIES:
            monkeypatch.delitem(sys.modules, name, raising=False)
        return SimpleNamespace(stash=pytest.Stash())

    return given


def test_a_gpu_of_its_own(machine: Any) -> None:
    facts = device_facts(machine(NATIVE), NOW, earlier_sticky=False)
    assert (facts.gpu, str(facts.capability), facts.count, facts.driver) == (GPU.name, "9.0", 1, "580.1")
    assert (facts.memory_total, facts.memory_free_at_start, facts.memory_free) == (80 * GIB, 70 * GIB, 5 * GIB)
    assert (facts.memory_reserved, facts.memory_of_others) == (60 * GIB, 10 * GIB)
    assert (facts.display_watchdog, facts.mig, facts.wsl, facts.container) == (False, False, False, False)
    assert facts.torch == "2.9"
    assert (
        described(NOW, facts) == "5 GiB of 80 GiB free, 60 GiB held by torch in this process, 10 GiB by other processes"
    )


def test_in_a_container_that_does_not_list_this_process(machine: Any) -> None:
    hidden = replace(NOW, processes=(GpuProcess(pid=2**22 + 1, memory=75 * GIB),))
    facts = device_facts(machine(NATIVE, between="container"), hidden, earlier_sticky=False)
    assert facts.memory_of_others is None
    assert facts.container
    assert described(hidden, facts) == "5 GiB of 80 GiB free, 60 GiB held by torch in this process"


def test_another_library_that_uses_cuda_may_hold_what_is_used(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = replace(NOW, processes=())
    config = machine(NATIVE, reserved=None, between="container")
    assert device_facts(config, hidden, earlier_sticky=False).memory_of_others == 75 * GIB
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace())
    assert device_facts(config, hidden, earlier_sticky=False).memory_of_others is None


def test_what_nvml_does_not_tell_is_not_known(machine: Any) -> None:
    facts = device_facts(machine(NATIVE, at_start=None), None, earlier_sticky=True)
    assert (facts.memory_free_at_start, facts.memory_free, facts.memory_of_others) == (None, None, None)
    assert facts.display_watchdog is None
    assert facts.earlier_sticky
    assert described("NVML does not read GPU-1: GPU is lost", facts) == "NVML does not read GPU-1: GPU is lost"
    assert described(None, facts) == ""


def test_while_posing_the_memory_is_the_posed_devices(machine: Any) -> None:
    facts = device_facts(machine(POSING, reserved=23 * GIB), NOW, earlier_sticky=False)
    assert (facts.gpu, str(facts.capability)) == ("RTX 3090", "8.6")
    assert (facts.memory_total, facts.memory_free, facts.memory_of_others) == (24 * GIB, GIB, None)


def test_without_a_gpu(machine: Any) -> None:
    facts = device_facts(machine(Running(device="cpu", gpu=None, view=None), between="wsl"), None, earlier_sticky=False)
    assert (facts.gpu, facts.capability, facts.count, facts.wsl) == ("", None, 0, True)


def test_nvml_that_hangs_is_asked_once(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    item: Any = SimpleNamespace(config=machine(NATIVE), stash=pytest.Stash())
    asked: list[str] = []

    def read_state(uuid: str) -> Silence:
        asked.append(uuid)
        return Silence("hangs")

    monkeypatch.setattr(triage_facts, "read_state", read_state)
    assert [state_at_failure(item), state_at_failure(item)] == ["hangs", "hangs"]
    assert asked == ["GPU-1"]
