"""Where and on what a session runs, for the record."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.hardware.detection import Detection
from pytest_gpumatrix.hardware.gpu_state import GpuState
from pytest_gpumatrix.record.column import SessionFacts
from pytest_gpumatrix.session.columns import Running
from pytest_gpumatrix.session.loaded import Loaded, cuda_in_use, loaded_versions

# What container engines put there: Docker, Podman, Kubernetes.
_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io")


def session_facts(running: Running, detection: Detection, at_start: GpuState | None, rootpath: Path) -> SessionFacts:
    """The facts of the running column. Libraries are named only if something else has loaded them.

    ``at_start`` is the GPU as it was before any test.
    """
    commit = _git(rootpath, "rev-parse", "HEAD")
    changes = _git(rootpath, "status", "--porcelain", "--untracked-files=no") if commit else None
    facts = SessionFacts(
        platform=", ".join(platforms(os.environ)) or None,
        commit=commit,
        dirty=None if changes is None else bool(changes),
        versions=loaded_versions(),
    )
    return _with_gpu(facts, running, detection, at_start)


def with_loaded(facts: SessionFacts, loaded: Loaded) -> SessionFacts:
    """The facts with what the tests have loaded by the end of the session."""
    return replace(facts, versions=loaded.versions, torch_archs=loaded.torch_archs, torch_tf32=loaded.torch_tf32)


def of_another_device(facts: SessionFacts, name: str, capability: ComputeCapability) -> SessionFacts:
    """The facts of a column that no GPU ran: of this machine and its libraries, without its GPU."""
    return SessionFacts(
        gpu_name=name,
        gpu_compute_capability=capability,
        platform=facts.platform,
        commit=facts.commit,
        dirty=facts.dirty,
        versions=facts.versions,
        torch_archs=facts.torch_archs,
        torch_tf32=facts.torch_tf32,
    )


def platforms(environ: Mapping[str, str]) -> Iterator[str]:
    """What stands between this process and the machine: "wsl", "container"."""
    if "microsoft" in platform.release().lower():
        yield "wsl"
    if "KUBERNETES_SERVICE_HOST" in environ or any(Path(name).exists() for name in _CONTAINER_FILES):
        yield "container"


def _with_gpu(facts: SessionFacts, running: Running, detection: Detection, at_start: GpuState | None) -> SessionFacts:
    gpu, view = running.gpu, running.view
    if gpu is None or view is None:
        return facts
    posed = running.posed is not None
    others = None
    if at_start is not None:
        renumbered = "container" in (facts.platform or "")
        others = at_start.held_by_others(os.getpid(), in_use=cuda_in_use(), renumbered=renumbered)
    return replace(
        facts,
        gpu_name=f"{view.profile.name}, posed by {gpu.name}" if posed else gpu.name,
        gpu_uuid=gpu.uuid,
        gpu_compute_capability=running.posed or gpu.capability,
        driver_version=detection.driver_version,
        cuda_driver_version=at_start.cuda_driver_version if at_start is not None else None,
        gpu_count=str(len(detection.gpus)),
        gpu_sm_count=_text(view.profile.sm_count if posed else gpu.sm_count),
        gpu_shared_memory_optin=str(view.profile.limits.shared_memory_per_block),
        gpu_memory_total=str(gpu.memory),
        gpu_memory_free_at_start=_text(at_start.free if at_start is not None else None),
        gpu_memory_others_at_start=_text(others),
        gpu_mig=_text(gpu.mig),
        gpu_display=_text(at_start.display if at_start is not None else None),
    )


def _text(fact: int | bool | None) -> str | None:
    return None if fact is None else str(fact).lower()


def _git(rootpath: Path, *arguments: str) -> str | None:
    """What git prints, or None where there is no git or no repository."""
    try:
        answer = subprocess.run(  # noqa: S603 - a fixed command
            ["git", "-C", str(rootpath), *arguments],  # noqa: S607 - git is found on PATH, as everywhere
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
