from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import FunctionType

import pytest

from pytest_gpumatrix.portability.sources import source_hash

KERNEL = """
import helpers_{n} as helpers
from helpers_{n} import doubled

WIDTH = {width}
UNREAD = {unread}

class Wrapped:
    def __init__(self, fn):
        self.fn = fn

def kernel(x):
    return doubled(x) + WIDTH + helpers.OFFSET
"""
HELPERS = """
OFFSET = {offset}

def inner(x):
    return x

class Wrapped:
    def __init__(self, fn):
        self.fn = fn

@Wrapped
def doubled(x):
    return 2 * inner(x)
"""
NUMBERS = count()


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def load(path: Path, name: str) -> object:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def kernel(folder: Path, *, comment: str = "", helper: str = "", **values: object) -> FunctionType:
    """The function as a process would find it that loads these two files."""
    name = f"helpers_{next(NUMBERS)}"
    given = {"width": 4, "unread": 1, "offset": 3, **values}
    # The files' text is the same whatever the globals are, as where they are read from the environment.
    (folder / "helpers.py").write_text(HELPERS.replace("{offset}", "0") + helper)
    (folder / "kernel.py").write_text(KERNEL.replace("helpers_{n}", "HELPERS").format(width=0, unread=0) + comment)
    helpers = load(folder / "helpers.py", name)
    vars(helpers)["OFFSET"] = given["offset"]
    source = (folder / "kernel.py").read_text().replace("HELPERS", name)
    scope: dict[str, object] = {"__name__": "kernel"}
    exec(compile(source, str(folder / "kernel.py"), "exec"), scope)  # noqa: S102 - our own text
    scope["WIDTH"], scope["UNREAD"] = given["width"], given["unread"]
    function = scope["kernel"]
    assert isinstance(function, FunctionType)
    return function


def test_equal_sources_have_equal_hashes(tmp_path: Path) -> None:
    assert source_hash(kernel(tmp_path)) == source_hash(kernel(tmp_path))


def test_what_a_kernel_does_not_read_does_not_matter(tmp_path: Path) -> None:
    assert source_hash(kernel(tmp_path)) == source_hash(kernel(tmp_path, unread=object()))


@pytest.mark.parametrize(
    "change",
    [
        {"width": 8},  # a global of its own
        {"width": 4.0},
        {"offset": 5},  # a global of another module
        {"comment": "# a comment"},  # its file
        {"helper": "# a comment"},  # the file of what it calls, under a decorator
    ],
    ids=repr,
)
def test_each_dependency_changes_the_hash(tmp_path: Path, change: dict[str, str]) -> None:
    assert source_hash(kernel(tmp_path)) != source_hash(kernel(tmp_path, **change))


def test_a_function_that_calls_itself_has_a_hash() -> None:
    def again(x: int) -> int:
        return again(x - 1)

    assert isinstance(again, FunctionType)
    assert source_hash(again) == source_hash(again)
