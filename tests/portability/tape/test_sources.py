from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest

from pytest_gpumatrix.portability.tape.sources import SourceHash, source_hash

KERNEL = """
import helpers_under_test as helpers
from helpers_under_test import doubled

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
NAME = "helpers_under_test"


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    yield
    for name in (NAME, "top", "outer", "outer.inner"):
        sys.modules.pop(name, None)


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
    given = {"width": 4, "unread": 1, "offset": 3, **values}
    # The files' text is the same whatever the globals are, as where they are read from the environment.
    (folder / "helpers.py").write_text(HELPERS.replace("{offset}", "0") + helper)
    (folder / "kernel.py").write_text(KERNEL.format(width=0, unread=0) + comment)
    helpers = load(folder / "helpers.py", NAME)
    vars(helpers)["OFFSET"] = given["offset"]
    source = (folder / "kernel.py").read_text()
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


# What a module may define for ``kernel`` to reach, an edit of it, and the kernel's own line.
REACHES = {
    "a submodule's function": ("", "outer.inner.helper(x)"),
    "a function in a table": ("TABLE = {'a': [inner.helper]}", "TABLE['a'][0](x)"),
    "a partial function": ("part = functools.partial(inner.helper, 1)", "part(x)"),
    "a class's method": ("class Space:\n    f = staticmethod(inner.helper)", "Space.f(x)"),
    "an object's attribute": (
        "class Space: ...\nspace = Space()\nspace.f = inner.helper",
        "space.f(x)",
    ),
    "a constexpr": ("CONSTANT = tl.constexpr(inner.helper)", "CONSTANT(x)"),
    "an operator": (
        "class Space:\n    def __add__(self, x):\n        return inner.helper(x)\nspace = Space()",
        "space + x",
    ),
    "a name that is told as text": ("", "getattr(outer.inner, 'helper')(x)"),
}


@pytest.mark.parametrize("reach", REACHES)
def test_what_a_kernel_reaches_through_something_else_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reach: str
) -> None:
    pytest.importorskip("triton")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "__init__.py").write_text("")
    defines, line = REACHES[reach]
    imports = "import functools\nimport outer.inner\nfrom outer import inner\nimport triton.language as tl\n"
    (tmp_path / "top.py").write_text(f"{imports}{defines}\ndef kernel(x):\n    return {line}\n")

    def hashed(text: str) -> SourceHash:
        (tmp_path / "outer" / "inner.py").write_text(text)
        for name in ("top", "outer.inner", "outer"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return source_hash(importlib.import_module("top").kernel)

    before = hashed("def helper(*x):\n    return x\n")
    assert before.complete
    assert before != hashed("def helper(*x):\n    return 0\n# longer, whatever the clock says")


@pytest.mark.parametrize(
    ("defines", "other"),
    [
        ("def f(x, n=A): ...\nkernel = f", "A = 2"),
        ("def f(x, *, n=A): ...\nkernel = f", "A = 2"),
        ("f = first\ndef kernel(x): return f(x)", "first = second"),
        ("def kernel(x): return D['a']", "D = {'a': 2}"),
        ("def kernel(x): return M.A", "M.A = 2"),
    ],
)
def test_the_values_within_reach_count(tmp_path: Path, defines: str, other: str) -> None:
    """The files are the same: which value there is may depend on the environment."""
    base = "def first(x): ...\ndef second(x): ...\nclass M: A = 1\nA = 1\nD = {'a': 1}\n"
    (tmp_path / "code.py").write_text("")

    def hashed(between: str) -> SourceHash:
        scope: dict[str, object] = {"__name__": "under_test"}
        code = compile(f"{base}{between}\n{defines}", str(tmp_path / "code.py"), "exec")
        exec(code, scope)  # noqa: S102 - our own text
        function = scope["kernel"]
        assert isinstance(function, FunctionType)
        return source_hash(function)

    assert hashed("pass") == hashed("pass")
    assert hashed("pass") != hashed(other)


@pytest.mark.parametrize(
    ("value", "complete"),
    [
        (1, True),
        ((1, {"a": (2.0, None)}), True),
        (len, True),
        (SimpleNamespace(a=1), True),
        (object(), False),
        (iter(()), False),
        ([object()], False),
    ],
)
def test_what_has_no_content_to_hash_is_said(value: object, complete: bool) -> None:
    def kernel() -> object:
        return value

    assert isinstance(kernel, FunctionType)
    assert source_hash(kernel).complete is complete


def test_a_function_that_imports_something_cannot_be_followed() -> None:
    def kernel() -> object:
        import json

        return json

    assert isinstance(kernel, FunctionType)
    assert not source_hash(kernel).complete
