"""What this machine has for compiling: processors, packages, and a folder that lasts between runs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_CACHE_VARIABLE = "GPUMATRIX_CACHE_DIR"


def processors() -> int:
    """The processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_folder(environ: Mapping[str, str], fallback: Path) -> Path:
    """Where compilations are kept between runs; ``fallback`` for a user without a home."""
    if own := environ.get(_CACHE_VARIABLE):
        return Path(own)
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base) / "gpumatrix"
    try:
        return Path.home() / ".cache" / "gpumatrix"
    except RuntimeError:  # a container's user may have no entry and no HOME
        return fallback


def installed(distributions: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Those that are installed, each with its version. Nothing is imported."""
    for name in distributions:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def package_folders(name: str) -> list[Path]:
    """Where a package lies, which is not imported: none if it is not here, several of a namespace."""
    spec = importlib.util.find_spec(name)
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec is not None else []
