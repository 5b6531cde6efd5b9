"""Whether a module that a test needs is installed, without importing it."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.metadata
import sys
from collections.abc import Mapping, Sequence

from packaging.requirements import Requirement as ModuleRequirement


@functools.cache
def missing_module(module: ModuleRequirement) -> str | None:
    """Why a module is not there in the version asked for, or None. Looks for files; runs nothing.

    The version is that of the distribution the import name comes from; where several share a name
    (``flash_attn`` and ``flash_attn.cute`` may), of the one whose files hold the module.
    """
    if not _is_there(module.name):
        return f"needs module {module.name}, which is not installed"
    if not module.specifier:
        return None
    versions = _versions(module.name)
    if not versions:
        return f"needs module {module}; its version is unknown, for no distribution claims it"
    if any(module.specifier.contains(version, prereleases=True) for version in versions.values()):
        return None
    found = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return f"needs module {module}; here is {found}"


def _is_there(name: str) -> bool:
    if name in sys.modules:
        return sys.modules[name] is not None  # None blocks an import
    path: Sequence[str] | None = None
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        spec = _find(".".join(parts[:depth]), path)
        if spec is None or (spec.submodule_search_locations is None and depth < len(parts)):
            return False
        path = list(spec.submodule_search_locations or ())
    return True


def _find(name: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        if find_spec is not None and (spec := find_spec(name, path, None)) is not None:
            found: importlib.machinery.ModuleSpec = spec
            return found
    return None


def _versions(name: str) -> Mapping[str, str]:
    claimants = _distributions().get(name.partition(".")[0], ())
    holders = [claimant for claimant in claimants if _holds(claimant, name)] if len(set(claimants)) > 1 else claimants
    return {claimant: importlib.metadata.version(claimant) for claimant in holders or claimants}


@functools.cache
def _distributions() -> Mapping[str, Sequence[str]]:
    return importlib.metadata.packages_distributions()


def _holds(distribution: str, name: str) -> bool:
    place = name.replace(".", "/")
    files = importlib.metadata.files(distribution) or ()
    return any(str(file).startswith((f"{place}/__init__.", f"{place}.")) for file in files)
