from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest

from pytest_gpumatrix.portability.tape.sources import SourceHash, generated_hash, source_hash

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


def reads_a_file_of_its_own() -> str:
    return KERNEL + HELPERS


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
    assert source_hash(kernel(tmp_path)).text != source_hash(kernel(tmp_path, **change)).text


def test_the_files_that_a_hash_covers_are_told() -> None:
    """With what they hold, so that an edit can be seen without importing them."""
    assert isinstance(reads_a_file_of_its_own, FunctionType)
    found = source_hash(reads_a_file_of_its_own).files
    assert found == {__file__: hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}


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
    "a property": (
        "class Space:\n    @property\n    def f(self):\n        return inner.helper\nspace = Space()",
        "space.f(x)",
    ),
    "a module that is passed on": ("def call(module, x):\n    return module.helper(x)", "call(inner, x)"),
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
        ("c = C(A)\ndef kernel(x): return c.value", "A = 2"),  # a property names another attribute
        ("s = S(A)\ndef kernel(x): return s.value", "A = 2"),
        ("c = C(A)\ndef kernel(x): return read(c)", "A = 2"),  # another function names it
        ("def kernel(x): return read(M)", "M._A = 2"),
        ("t = T((1, 2)); t._A = A\ndef kernel(x): return t.value", "A = 2"),
    ],
)
def test_the_values_within_reach_count(tmp_path: Path, defines: str, other: str) -> None:
    """The files are the same: which value there is may depend on the environment."""
    base = """
def first(x): ...
def second(x): ...
def read(x): return x._A
class M: A = 1; _A = 1
class C:
    def __init__(self, a): self._A = a
    @property
    def value(self): return self._A
class S:
    __slots__ = ("__own",)
    def __init__(self, a): self.__own = a
    @property
    def value(self): return self.__own
class T(tuple): value = property(lambda self: self._A)
A = 1
D = {'a': 1}
"""
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


# What a function may read that no hash of code and values tells.
OUTSIDE = {
    "the environment": ("import os", "os.environ['SZ']"),
    "the environment by another name": ("from os import environ", "environ['SZ']"),
    "a file": ("", "open('size.txt').read()"),
    "a file by its path": ("from pathlib import Path\nsize = Path('size.txt')", "size.read_text()"),
    "a function of another name": ("from os import getenv as told", "told('SZ')"),
    "a built-in of another name": ("read = open", "read('size.txt').read()"),
    "a computed name": ("class P: block = 1", "getattr(P, 'bl' + 'ock')"),
    "a computed global": ("BLOCK_A = 1", "globals()[f'BLOCK_{x}']"),
    "text that is run": ("", "eval('1 + 1')"),
    "another process": ("import subprocess", "subprocess.check_output('size')"),
    "a value of a library's": ("import threading\nlocal = threading.local()", "local.size"),
    "a library's class": (
        "import configparser\nclass Own(configparser.ConfigParser): pass\nown = Own()",
        "own.get('a', 'b')",
    ),
    "a value too deep": ("deep = []\nfor _ in range(500): deep = [deep]", "deep"),
}


@pytest.mark.parametrize("outside", OUTSIDE)
def test_what_is_read_from_outside_is_said(tmp_path: Path, outside: str) -> None:
    defines, line = OUTSIDE[outside]
    scope: dict[str, object] = {"__name__": "under_test"}
    (tmp_path / "code.py").write_text("")

    def kernel_of(line: str) -> FunctionType:
        code = compile(f"{defines}\ndef kernel(x): return {line}", str(tmp_path / "code.py"), "exec")
        exec(code, scope)  # noqa: S102 - our own text
        function = scope["kernel"]
        assert isinstance(function, FunctionType)
        return function

    assert source_hash(kernel_of("x")).complete
    assert not source_hash(kernel_of(line)).complete


def test_another_build_of_torch_makes_another_hash_of_what_it_generated() -> None:
    assert generated_hash("text", "2.9.0+gitaaa") != generated_hash("text", "2.9.0+gitbbb")
    assert generated_hash("text", "2.9.0+cpu") == generated_hash("text", "2.9.0+cu130")


def test_a_function_that_imports_something_cannot_be_followed() -> None:
    def kernel() -> object:
        import json

        return json

    assert isinstance(kernel, FunctionType)
    assert not source_hash(kernel).complete
