"""Where and on what a session runs, for the record."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_gpumatrix.hardware.detection import Detection
from pytest_gpumatrix.record.column import SessionFacts
from pytest_gpumatrix.session.columns import Running

_LIBRARIES = ("torch", "triton", "numpy")


def session_facts(running: Running, detection: Detection, rootpath: Path) -> SessionFacts:
    """The facts of the running column. Libraries are named only if something else has loaded them."""
    gpu, view = running.gpu, running.view
    name, capability = (gpu.name, gpu.capability) if gpu is not None else (None, None)
    if running.posed is not None and view is not None:
        name, capability = f"{view.profile.name}, posed by {name}", running.posed
    commit = _git(rootpath, "rev-parse", "HEAD")
    changes = _git(rootpath, "status", "--porcelain", "--untracked-files=no") if commit else None
    return SessionFacts(
        gpu_name=name,
        gpu_uuid=gpu.uuid if gpu else None,
        gpu_compute_capability=capability,
        driver_version=detection.driver_version if gpu else None,
        commit=commit,
        dirty=None if changes is None else bool(changes),
        versions=loaded_versions(),
    )


def loaded_versions() -> Mapping[str, str]:
    """The versions of Python, pytest and of those libraries that are loaded by now."""
    versions = {"python": platform.python_version(), "pytest": pytest.__version__}
    for name in _LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    return versions


def torch_line() -> str | None:
    """Torch's version and what it was built for, if something else has loaded it. Makes no CUDA context."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    archs = torch._C._cuda_getArchFlags() if hasattr(torch._C, "_cuda_getArchFlags") else None
    return f"torch {torch.__version__}, built for {archs or 'no GPU'}"


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
