"""What triage is told beside the texts of a failure: the device, and how it was when the test had failed."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest

from pytest_gpumatrix.hardware.gpu_state import GpuState, Silence, read_state
from pytest_gpumatrix.hardware.sizes import format_size
from pytest_gpumatrix.session.facts import platforms
from pytest_gpumatrix.session.loaded import cuda_in_use, loaded, torch_reserved
from pytest_gpumatrix.session.machine import gpu_at_start, machine_of
from pytest_gpumatrix.session.marked import NEED
from pytest_gpumatrix.session.pose import running_of
from pytest_gpumatrix.triage.classify import DeviceFacts

# What uses CUDA without torch: whether it has made a context it does not say.
_CUDA_LIBRARIES = ("cuda.bindings.driver", "cuda.bindings.runtime", "cupy", "numba.cuda")
_SILENCE = pytest.StashKey[Silence]()  # NVML hangs: it is not asked again


def state_at_failure(item: pytest.Item) -> GpuState | str | None:
    """The GPU as a failing test leaves it, or why NVML does not tell; None for a test that has no part in it."""
    gpus = machine_of(item.config).detection.gpus
    if not gpus or not (NEED in item.stash or cuda_in_use()):
        return None
    if (silence := item.config.stash.get(_SILENCE, None)) is not None:
        return silence
    state = read_state(gpus[0].uuid)
    if isinstance(state, Silence):
        item.config.stash[_SILENCE] = state
    return state


def device_facts(config: pytest.Config, now: GpuState | None, *, earlier_sticky: bool) -> DeviceFacts:
    """The facts of this process and its GPU; ``now`` is the GPU's state at the failure."""
    libraries, behind = loaded(config), set(platforms(os.environ))
    versions = libraries.versions
    facts = DeviceFacts(
        count=len(machine_of(config).detection.gpus),
        cuda=versions.get("torch_cuda", ""),
        torch=versions.get("torch", ""),
        torch_archs=tuple((libraries.torch_archs or "").split()),
        triton=versions.get("triton", ""),
        ptxas=versions.get("ptxas", ""),
        wsl="wsl" in behind,
        container="container" in behind,
        earlier_sticky=earlier_sticky,
    )
    return _with_gpu(facts, config, now)


def described(state: GpuState | str | None, facts: DeviceFacts) -> str:
    """The GPU at a failure, for people: "1.2 GiB of 23.5 GiB free, 20 GiB held by other processes"."""
    if state is None or isinstance(state, str):
        return state or ""
    if facts.memory_free is None or facts.memory_total is None:
        return ""
    parts = [f"{format_size(facts.memory_free)} of {format_size(facts.memory_total)} free"]
    if facts.memory_reserved is not None:
        parts.append(f"{format_size(facts.memory_reserved)} held by torch in this process")
    if facts.memory_of_others is not None:
        parts.append(f"{format_size(facts.memory_of_others)} by other processes")
    return ", ".join(parts)


def _with_gpu(facts: DeviceFacts, config: pytest.Config, now: GpuState | None) -> DeviceFacts:
    running, detection, at_start = running_of(config), machine_of(config).detection, gpu_at_start(config)
    gpu, view = running.gpu, running.view
    if gpu is None or view is None:
        return facts
    posed = running.posed is not None
    reserved = torch_reserved()
    free = now.free if now is not None else None
    others = _held_by_others(now, renumbered=bool(facts.container)) if now is not None else None
    if posed:  # the code has the memory of the posed device, however much of the card's is left
        free, others = (None if reserved is None else max(0, view.memory - reserved)), None
    return replace(
        facts,
        gpu=view.profile.name if posed else gpu.name,
        capability=running.posed or gpu.capability,
        memory_total=view.memory,
        memory_free_at_start=at_start.free if at_start is not None and not posed else None,
        memory_free=free,
        memory_of_others=others,
        memory_reserved=reserved,
        driver=detection.driver_version or "",
        mig=gpu.mig,
        display_watchdog=now.display if now is not None else None,
    )


def _held_by_others(now: GpuState, *, renumbered: bool) -> int | None:
    in_use = cuda_in_use() or any(name in sys.modules for name in _CUDA_LIBRARIES)
    return now.held_by_others(os.getpid(), in_use=in_use, renumbered=renumbered)
