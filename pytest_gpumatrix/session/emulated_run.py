"""How a run is started again for a device that the GPU poses as: its command and its environment. Pure."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_gpumatrix.gate import requirement as gate
from pytest_gpumatrix.hardware.detection import Gpu

# The search path is that of this process, however it was started.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); sys.argv[:] = ['pytest', *sys.argv[2:]]; "
    "import pytest; sys.exit(pytest.main())"
)
# Options by which a plugin writes a file at the end: a second run would write over the first one's.
_FILES = {"xmlpath": "--junitxml", "htmlpath": "--html", "report_log": "--report-log", "basetemp": "--basetemp"}
_OF_THE_FIRST_RUN = ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_TESTRUNUID", "PYTEST_VERSION")


@dataclass(frozen=True, kw_only=True, slots=True)
class Folders:
    """Where an emulated run writes."""

    out: Path  # its results
    scratch: Path  # what nobody reads
    cache: Path  # of Triton and Inductor: what was compiled while posing is for no other run


def command(config: pytest.Config, device: str, folders: Folders, cache_dir: Path | None) -> list[str]:
    """The command: the arguments of this run, for one device, and writing elsewhere.

    ``cache_dir`` is a copy of pytest's cache, from before this run; None where pytest keeps none.
    """
    arguments = [str(argument) for argument in config.invocation_params.args]
    own = [f"--gpu-pose={device}", f"--gpu-matrix-out={folders.out}"]
    for plugin in config.invocation_params.plugins or ():
        own += ["-p", plugin] if isinstance(plugin, str) else []
    if cache_dir is not None:
        own += ["-o", f"cache_dir={cache_dir}"]
    if config.pluginmanager.hasplugin("_cov"):
        own.append("--no-cov")
    for name, option in _FILES.items():
        if getattr(config.option, name, None):
            own.append(f"{option}={folders.scratch / name}")
    end = arguments.index("--") if "--" in arguments else len(arguments)  # what follows are files
    warnings = [f"-W{warning}" for warning in sys.warnoptions]
    path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
    return [sys.executable, *warnings, "-c", _START, path, *arguments[:end], *own, *arguments[end:]]


def environment(environ: Mapping[str, str], gpus: Sequence[Gpu], folders: Folders) -> dict[str, str]:
    """The variables: the GPUs that pose, and caches of their own."""
    kept = {name: value for name, value in environ.items() if name not in _OF_THE_FIRST_RUN}
    return {
        **kept,
        "CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in gpus),
        "TRITON_CACHE_DIR": str(folders.cache / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(folders.cache / "inductor"),
    }


def cache_name(device: gate.Device, gpu: Gpu) -> str:
    """A name for what is compiled while this GPU poses as this device: what code is told is in it."""
    told = f"{device.profile!r} {device.count} {gpu.capability}"
    return f"{device.profile.id}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
