"""What the libraries that the tests have loaded say of themselves. Nothing is imported, and no CUDA context is made."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
import pytest

_LIBRARIES = ("torch", "triton", "numpy")
_Answer = TypeVar("_Answer")
NOT_MEASURED = pytest.StashKey[list[str]]()
_OUTPUT = "gpumatrix_loaded"  # the key of what an xdist worker tells the controller when it ends


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """What a process has loaded by now."""

    versions: Mapping[str, str]
    torch_archs: str | None = None  # the architectures that torch was built for: "sm_80 sm_90"
    torch_tf32: str | None = None  # where torch may round float32 to TF32: "matmul, cudnn", "none"
    not_measured: tuple[str, ...] = ()  # why a built-in metric is missing


def loaded(config: pytest.Config) -> Loaded:
    """What this process has loaded by now. Asks the assembler for its version, if Triton has been loaded."""
    problems = config.stash.get(NOT_MEASURED, [])
    return Loaded(
        versions={**loaded_versions(), **_toolchain_versions()},
        torch_archs=torch_archs(),
        torch_tf32=_torch_tf32(),
        not_measured=tuple(problems),
    )


def together(parts: Iterable[Loaded]) -> Loaded:
    """What the processes of a session have loaded, the first that knows a thing deciding."""
    versions: dict[str, str] = {}
    archs = tf32 = None
    problems: dict[str, None] = {}
    for part in parts:
        problems |= dict.fromkeys(part.not_measured)
        versions = {**part.versions, **versions}
        archs, tf32 = archs or part.torch_archs, tf32 or part.torch_tf32
    return Loaded(versions=versions, torch_archs=archs, torch_tf32=tf32, not_measured=tuple(problems))


class TellLoaded:
    """In an xdist worker: tells the controller what was loaded there."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Put it with what xdist sends."""
        session.config.workeroutput[_OUTPUT] = msgspec.to_builtins(loaded(session.config))  # type: ignore[attr-defined]  # set by xdist


def loaded_in_worker(node: Any) -> Loaded | None:
    """What a worker told; None of one that died."""
    told = getattr(node, "workeroutput", {}).get(_OUTPUT)
    return None if told is None else msgspec.convert(told, Loaded)


def loaded_versions() -> Mapping[str, str]:
    """The versions of Python, pytest and of those libraries that are loaded by now."""
    versions = {"python": platform.python_version(), "pytest": pytest.__version__}
    for name in _LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    return versions


def torch_archs() -> str | None:
    """The architectures that torch was built for; None without torch, or of a torch for the CPU."""
    archs = _asked("torch", lambda torch: torch._C._cuda_getArchFlags())
    return archs if isinstance(archs, str) and archs else None


def torch_line() -> str | None:
    """Torch's version and what it was built for, if something else has loaded it."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return f"torch {torch.__version__}, built for {torch_archs() or 'no GPU'}"


def _toolchain_versions() -> Mapping[str, str]:
    """The CUDA that torch was built with, and the assembler that Triton uses."""
    versions = {
        "torch_cuda": _asked("torch", lambda torch: torch.version.cuda),
        "ptxas": _asked("triton.knobs", lambda knobs: knobs.nvidia.ptxas.version),
    }
    return {name: version for name, version in versions.items() if isinstance(version, str)}


def _torch_tf32() -> str | None:
    def asked(torch: Any) -> str:
        cudnn = torch.backends.cudnn
        places = {"matmul": torch.backends.cuda.matmul, "cudnn": getattr(cudnn, "conv", cudnn)}
        return ", ".join(name for name, place in places.items() if _allows_tf32(place)) or "none"

    return _asked("torch", asked)


def _allows_tf32(place: Any) -> bool:
    """Torch from 2.9 on refuses to be asked by the older name where a test has set the newer one."""
    precision = getattr(place, "fp32_precision", None)
    return bool(place.allow_tf32) if precision is None else precision == "tf32"


def cuda_in_use() -> bool:
    """Whether torch has made a CUDA context in this process, so that memory of the GPU may be this process's own."""
    return _asked("torch", lambda torch: bool(torch.cuda.is_initialized())) or False


def torch_reserved() -> int | None:
    """Bytes that torch holds of the first GPU, in use or not; None where it has made no context."""
    return _asked("torch", lambda torch: int(torch.cuda.memory_reserved(0))) if cuda_in_use() else None


def _asked(name: str, question: Callable[[Any], _Answer]) -> _Answer | None:
    """What a module that is loaded answers. None where it does not: other releases, and those that a test has made
    up or has taken a part of, may have anything in the place of what is asked for.
    """
    module = sys.modules.get(name)
    if module is None:
        return None
    try:
        return question(module)
    except Exception:  # noqa: BLE001 - see above: it must not become an error of the test, and is not known
        return None
