from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pytest_gpumatrix.portability.patching.import_watcher import ImportWatcher


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "watched").mkdir()
    (tmp_path / "watched" / "__init__.py").write_text("")
    (tmp_path / "watched" / "inner.py").write_text("def function():\n    return 1\n")
    (tmp_path / "watched" / "broken.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "watched"]:
        del sys.modules[name]


@pytest.fixture
def seen() -> list[ModuleType]:
    return []


@pytest.fixture
def watcher(seen: list[ModuleType]) -> Iterator[ImportWatcher]:
    watcher = ImportWatcher(dict.fromkeys(("watched.inner", "watched.broken", "watched.missing"), seen.append))
    yield watcher
    watcher.uninstall()


@pytest.mark.usefixtures("package")
def test_a_module_is_seen_when_it_has_been_imported(watcher: ImportWatcher, seen: list[ModuleType]) -> None:
    watcher.install()
    assert seen == []
    assert "watched" not in sys.modules
    module = importlib.import_module("watched.inner")
    assert seen == [module]
    assert module.function() == 1
    assert "return 1" in inspect.getsource(module.function)
    importlib.reload(module)
    assert seen == [module, module]


@pytest.mark.usefixtures("package")
def test_a_module_that_is_there_is_seen_at_once(watcher: ImportWatcher, seen: list[ModuleType]) -> None:
    module = importlib.import_module("watched.inner")
    watcher.install()
    assert seen == [module]


@pytest.mark.usefixtures("package")
def test_import_errors_are_as_without_it(watcher: ImportWatcher, seen: list[ModuleType]) -> None:
    watcher.install()
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("watched.broken")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("watched.missing")
    assert seen == []


@pytest.mark.usefixtures("package")
def test_after_uninstall_nothing_is_seen(watcher: ImportWatcher, seen: list[ModuleType]) -> None:
    watcher.install()
    watcher.uninstall()
    importlib.import_module("watched.inner")
    assert seen == []


@pytest.mark.usefixtures("package")
def test_two_watchers_see_one_module_the_first_one_first() -> None:
    order: list[str] = []
    watchers = [
        ImportWatcher({"watched.inner": lambda _: order.append("one")}),
        ImportWatcher({"watched.inner": lambda _: order.append("two")}),
    ]
    for watcher in watchers:
        watcher.install()
    module = importlib.import_module("watched.inner")
    assert order == ["one", "two"]
    assert "exec_module" not in vars(module.__loader__)
    for watcher in watchers:
        watcher.uninstall()
