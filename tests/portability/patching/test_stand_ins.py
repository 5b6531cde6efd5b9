from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.patching.stand_ins import StandIns

ORIGINAL = (type("Original", (), {}),)  # not a name of this module, which would be replaced too


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """A package, a module of its own, and one of a user who took the class under another name."""
    found = {name: ModuleType(name) for name in ("package", "package.inner", "user")}
    for name, module in found.items():
        monkeypatch.setitem(sys.modules, name, module)
        vars(module)["Alias" if name == "user" else "Original"] = ORIGINAL[0]
    return found


def test_every_name_for_it_but_the_packages_own_stands_for_ours(modules: dict[str, ModuleType]) -> None:
    patches, made = Patches(), []

    def make(original: type[Any]) -> type[Any]:
        made.append(type("Ours", (original,), {}))
        return made[-1]

    stand_ins = StandIns(patches, "package")
    stand_ins.put(modules["package"], "Original", make)
    stand_ins.put(modules["package"], "Original", make)  # as a module that is imported again
    [ours] = made
    assert (modules["package"].Original, modules["user"].Alias) == (ours, ours)
    assert modules["package.inner"].Original is ORIGINAL[0]
    patches.undo()
    assert (modules["package"].Original, modules["user"].Alias) == ORIGINAL * 2
