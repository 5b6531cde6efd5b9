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
from pytest_gpumatrix.session.pose import SCRATCH

# The search path is that of this process, however it was started.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); sys.argv[:] = ['pytest', *sys.argv[2:]]; "
    "import pytest; sys.exit(pytest.main())"
)
# Options by which a plugin writes a file at the end: a second run would write over the first one's.
_FILES = {
    "xmlpath": "--junitxml",
    "htmlpath": "--html",
    "report_log": "--report-log",
    "basetemp": "--basetemp",
    "log_file": "--log-file",  # also in the ini file
    "debug": "--debug",
}
# What the interpreter was told by options alone, and the names that sys.flags has for them. Python 3.10 has no -P.
_FLAGS = {
    "O": "optimize",
    "B": "dont_write_bytecode",
    "E": "ignore_environment",
    "I": "isolated",
    "P": "safe_path",
    "S": "no_site",
    "b": "bytes_warning",
    "s": "no_user_site",
}
_OF_THE_FIRST_RUN = ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_TESTRUNUID", "PYTEST_VERSION")


@dataclass(frozen=True, kw_only=True, slots=True)
class Folders:
    """Where an emulated run writes."""

    out: Path  # its results
    scratch: Path  # what nobody reads, and what it keeps for itself until it ends
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
        if getattr(config.option, name, None) or (name == "log_file" and _ini(config, name)):
            own.append(f"{option}={folders.scratch / name}")
    end = arguments.index("--") if "--" in arguments else len(arguments)  # what follows are files
    path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
    return [sys.executable, *interpreter_options(), "-c", _START, path, *arguments[:end], *own, *arguments[end:]]


def environment(environ: Mapping[str, str], gpus: Sequence[Gpu], folders: Folders) -> dict[str, str]:
    """The variables: the GPUs that pose, and caches of their own."""
    kept = {name: value for name, value in environ.items() if name not in _OF_THE_FIRST_RUN}
    return {
        **kept,
        SCRATCH: str(folders.scratch),
        "PYTHONBREAKPOINT": "0",  # nobody is there to answer
        "CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in gpus),
        "TRITON_CACHE_DIR": str(folders.cache / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(folders.cache / "inductor"),
    }


def cache_name(device: gate.Device, gpu: Gpu) -> str:
    """A name for what is compiled while this GPU poses as this device: what code is told is in it."""
    told = f"{device.profile!r} {device.count} {gpu.capability}"
    return f"{device.profile.id}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"


def interpreter_options() -> list[str]:
    """The options of this process's Python. Its variables are inherited as they are."""
    flags = ["-" + letter * int(getattr(sys.flags, name, 0)) for letter, name in _FLAGS.items()]
    implementation = [
        f"-X{name}" if value is True else f"-X{name}={value}" for name, value in getattr(sys, "_xoptions", {}).items()
    ]
    return [*(flag for flag in flags if flag != "-"), *implementation, *(f"-W{one}" for one in sys.warnoptions)]


def _ini(config: pytest.Config, name: str) -> object:
    try:
        return config.getini(name)
    except ValueError:  # the plugin that knows it is switched off
        return None
