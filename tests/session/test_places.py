from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from pytest_gpumatrix.record.cell import Place
from pytest_gpumatrix.session.places import definition, failing_place, file_of


def module(path: Path, source: str) -> ModuleType:
    """The source, run as if it were in that file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    loaded = ModuleType(path.stem)
    exec(compile(source, str(path), "exec"), vars(loaded))  # noqa: S102 - a file of this test
    return loaded


def place(function: Callable[[], object], rootdir: Path) -> Place | None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - of whatever text
        function()
    return failing_place(caught, rootdir)


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("outside/library.py", Place(file="tests/test_a.py", line=2)),
        ("root/.venv/lib/python3.12/site-packages/library/it.py", Place(file="tests/test_a.py", line=2)),
        ("root/src/kernels.py", Place(file="src/kernels.py", line=3)),
        ("root/src/größe 1.py", Place(file="src/größe 1.py", line=3)),
    ],
)
def test_the_last_line_that_is_the_projects_own(tmp_path: Path, library: str, expected: Place) -> None:
    raising = module(tmp_path / library, "def fail():\n    x = 1\n    raise ValueError(x)")
    test = module(tmp_path / "root/tests/test_a.py", "def test(fail):\n    fail()")
    assert place(lambda: test.test(raising.fail), tmp_path / "root") == expected


def test_a_helper_that_hides_itself_is_passed_over(tmp_path: Path) -> None:
    helper = module(tmp_path / "check.py", "def check():\n    __tracebackhide__ = True\n    raise ValueError")
    test = module(tmp_path / "test_a.py", "def test(check):\n    check()")
    assert place(lambda: test.test(helper.check), tmp_path) == Place(file="test_a.py", line=2)


def test_the_python_of_the_project_itself_is_not_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    library = module(tmp_path / "env/lib/python3.12/json/decoder.py", "def fail():\n    raise ValueError")
    test = module(tmp_path / "test_a.py", "def test(fail):\n    fail()")
    assert place(lambda: test.test(library.fail), tmp_path) == Place(file="test_a.py", line=2)


def test_a_root_that_is_a_link(tmp_path: Path) -> None:
    test = module(tmp_path / "real/test_a.py", "def test():\n    raise ValueError")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert place(test.test, tmp_path / "link") == Place(file="test_a.py", line=2)


def test_no_frame_inside(tmp_path: Path) -> None:
    raising = module(tmp_path / "library.py", "def fail():\n    raise ValueError")
    assert place(raising.fail, tmp_path / "root") is None


@pytest.mark.parametrize("name", ["<string>", "<eval_with_key>.3", "root/gone.py"])
def test_code_that_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    made_up: dict[str, Callable[[], object]] = {}
    exec(compile("def fail():\n    raise ValueError", name, "exec"), made_up)  # noqa: S102 - as compilers do
    test = module(tmp_path / "test_a.py", "def test(fail):\n    fail()")
    assert place(lambda: test.test(made_up["fail"]), tmp_path) == Place(file="test_a.py", line=2)


def test_a_path_that_leads_out_of_the_root(tmp_path: Path) -> None:
    module(tmp_path / "library.py", "")
    (tmp_path / "root").mkdir()
    raising = module(tmp_path / "root/../library.py", "def fail():\n    raise ValueError")
    assert place(raising.fail, tmp_path / "root") is None


def test_why_an_import_failed_is_in_its_cause(tmp_path: Path) -> None:
    """Pytest's own error of a collector has no frame of the module in it."""
    raising = module(tmp_path / "test_a.py", "def load():\n    raise ImportError('x')")

    def collect() -> None:
        try:
            raising.load()
        except ImportError as error:
            raise ValueError("error while importing") from error

    with pytest.raises(ValueError, match="error while importing") as caught:
        collect()
    assert failing_place(caught, tmp_path) == Place(file="test_a.py", line=2)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (("tests/test_a.py", 0, "test"), Place(file="tests/test_a.py", line=1)),
        (("tests/test_a.py", None, ""), Place(file="tests/test_a.py")),  # xdist, of a worker that died
        (("", None, ""), None),
    ],
)
def test_where_a_test_is_defined(location: tuple[str, int | None, str], expected: Place | None) -> None:
    assert definition(location) == expected


def test_all_that_a_node_id_tells() -> None:
    assert file_of("tests/test_a.py::TestA::test[x::y]") == Place(file="tests/test_a.py")
