from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.judging import locate
from pytest_gpumatrix.portability.judging.locate import Boundary, located
from pytest_gpumatrix.portability.tape.launch import FunctionReference, TritonKernel
from pytest_gpumatrix.portability.tape.sources import file_hash
from pytest_gpumatrix.portability.tape.tape import SCHEMA, Header
from tests.portability.judging.builders import KERNEL, program

ELSEWHERE = "/home/ci/project"
TAPE = Path("launches.tape.jsonl")


def header(rootdir: str, *sys_path: str) -> Header:
    return Header(schema=SCHEMA, rootdir=rootdir, sys_path=sys_path)


def test_a_tape_of_this_machine_is_looked_for_where_it_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    found = located(header(str(tmp_path), str(tmp_path / "src"), "/usr/lib/python3"), TAPE, None, ["", "/packages"])
    assert (found.rootdir, found.sys_path) == (str(tmp_path), (str(tmp_path / "src"), "/packages"))


def test_a_tape_of_another_machine_is_looked_for_where_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    recorded = header(ELSEWHERE, f"{ELSEWHERE}/src", f"{ELSEWHERE}/gone", ELSEWHERE, "/home/ci/venv/lib")
    with pytest.raises(GpuMatrixError, match=r"launches.tape.jsonl was recorded in /home/ci/project, .* by --rootdir"):
        located(recorded, TAPE, None, ["/packages"])
    found = located(recorded, TAPE, tmp_path, ["/packages"])
    assert (found.rootdir, found.sys_path) == (str(tmp_path), (str(tmp_path / "src"), str(tmp_path), "/packages"))


@pytest.mark.parametrize(
    ("recorded", "here", "taken"),
    [
        ("home/project", "home/project", True),
        ("home/project", "home/project/src", True),
        ("home/project/src", "home/project", True),
        ("home/project/src", "home", True),
        ("home/artifact", "home/project", False),  # the sources are those of who made the tape
        ("home/link", "home/project", False),
        ("home/project-too", "home/project", False),
        ("home", "home/project", False),
        ("home", "home", False),
        (".", "home/project", False),
        ("/", "home/project", False),
    ],
)
def test_a_tape_chooses_no_folder_but_that_of_who_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: str, here: str, taken: bool
) -> None:
    for folder in ("project/src", "project-too", "artifact"):
        (tmp_path / "home" / folder).mkdir(parents=True)
    (tmp_path / "home" / "link").symlink_to(tmp_path / "home" / "artifact")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / here)
    root = tmp_path / recorded
    if taken:
        assert located(header(str(root)), TAPE, None, []).rootdir == str(root)
        return
    with pytest.raises(GpuMatrixError, match=r"launches.tape.jsonl says that it was recorded in /.* by --rootdir /"):
        located(header(str(root)), TAPE, None, [])
    assert located(header(ELSEWHERE), TAPE, root, []).rootdir == str(root.resolve())


def test_a_rootdir_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(GpuMatrixError, match=r"--rootdir .*missing: no such folder"):
        located(header(ELSEWHERE), TAPE, tmp_path / "missing", [])


@pytest.mark.parametrize("rootdir", ["", ".", "a\0b", "relative", "/proc/self/cmdline"])
def test_a_rootdir_of_the_tape_that_is_none(rootdir: str) -> None:
    with pytest.raises(GpuMatrixError, match="is not here"):
        located(header(rootdir), TAPE, None, [])


def test_the_search_path_of_a_tape_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    recorded = header(ELSEWHERE, f"{ELSEWHERE}/../../..", f"{ELSEWHERE}/link", "/", "", f"{ELSEWHERE}-too", "../..")
    assert located(recorded, TAPE, tmp_path, []).sys_path == ()


@given(st.lists(st.text(max_size=30), max_size=5))
def test_no_search_path_leads_outside(tmp_path_factory: pytest.TempPathFactory, entries: list[str]) -> None:
    root = tmp_path_factory.getbasetemp()
    found = located(header(ELSEWHERE, *(f"{ELSEWHERE}/{entry}" for entry in entries)), TAPE, root, [])
    assert all(Path(os.path.realpath(entry)).is_relative_to(root.resolve()) for entry in found.sys_path)


TEXT = "def f(): ...\n"
WAYS = ["its own", "a constant", "an option"]


def held(file: str, *others: str, text: str = TEXT) -> FunctionReference:
    """A function of a file; all of these held the same text when it was recorded."""
    content = hashlib.sha256(text.encode()).hexdigest()
    return msgspec.structs.replace(KERNEL.function, file=file, files=dict.fromkeys([file, *others], content))


def kernel_with(way: str, reference: FunctionReference) -> TritonKernel:
    """A kernel of ``own.py`` that is given the function, or is it."""
    encoded = {"tuple": [{"function": msgspec.to_builtins(reference)}]}
    ways: dict[str, dict[str, Any]] = {
        "its own": {"function": reference},
        "a constant": {"constants": (((0,), encoded),)},
        "an option": {"options": {"hook": encoded}},
    }
    return msgspec.structs.replace(KERNEL, **{"function": held("own.py"), **ways[way]})


def sources(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TEXT)


@pytest.mark.parametrize(
    ("file", "inside"),
    [
        ("kernels.py", True),
        ("a/../kernels.py", True),
        ("../outside.py", False),
        ("/etc/passwd", False),
        ("link/kernels.py", False),
        ("k\0.py", False),
        ("{packages}/lib/kernels.py", True),
        ("{packages}/../kernels.py", False),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_of_a_file_outside_is_refused(tmp_path: Path, file: str, inside: bool, way: str) -> None:
    root, packages = tmp_path / "root", tmp_path / "packages"
    sources(root / "own.py", root / "kernels.py", packages / "lib" / "kernels.py", tmp_path / "kernels.py")
    (root / "link").symlink_to(tmp_path)
    reference = held(file.format(packages=packages))
    kernel = kernel_with(way, reference)
    checked = Boundary(header(str(root), str(packages))).checked(kernel)
    if inside:
        assert checked is kernel
    else:
        assert checked.obstacle is not None
        assert checked.obstacle.startswith(f"cannot be rebuilt: {reference.file} is outside of {root}")


@pytest.mark.parametrize(
    ("edited", "obstacle"),
    [
        ("lib/helper.py", "sources differ: lib/helper.py has changed since it was recorded"),
        ("kernels.py", "sources differ: kernels.py has changed since it was recorded"),
        ("{packages}/helper.py", "sources differ: {packages}/helper.py has changed since it was recorded"),
        ("other.py", None),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_of_edited_sources_is_refused(tmp_path: Path, edited: str, obstacle: str | None, way: str) -> None:
    root, packages = tmp_path / "root", tmp_path / "packages"
    sources(root / "own.py", root / "kernels.py", root / "lib" / "helper.py", packages / "helper.py", root / "other.py")
    kernel = kernel_with(way, held("kernels.py", "lib/helper.py", f"{packages}/helper.py"))
    assert Boundary(header(str(root), str(packages))).checked(kernel) is kernel
    (root / edited.format(packages=packages)).write_text(f"{TEXT}# an edit")
    checked = Boundary(header(str(root), str(packages))).checked(kernel)
    assert checked.obstacle == (obstacle and obstacle.format(packages=packages))


@pytest.mark.parametrize("state", ["gone", "a pipe", "a folder"])
def test_a_source_that_is_no_file_any_more(tmp_path: Path, state: str) -> None:
    sources(tmp_path / "own.py", tmp_path / "kernels.py")
    (tmp_path / "kernels.py").unlink()
    if state == "a pipe":
        os.mkfifo(tmp_path / "kernels.py")  # to open it would wait for ever
    elif state == "a folder":
        (tmp_path / "kernels.py").mkdir()
    checked = Boundary(header(str(tmp_path))).checked(kernel_with("its own", held("kernels.py")))
    assert checked.obstacle == "sources differ: kernels.py is not there"


@pytest.mark.parametrize("elsewhere", ["/home/ci/venv/helper.py", "{tmp_path}/helper.py", "link/helper.py"])
def test_what_cannot_be_compared_here_is_compiled_anew(tmp_path: Path, elsewhere: str) -> None:
    """What is installed elsewhere, or is outside: no result of an earlier time may stand for it."""
    root = tmp_path / "root"
    sources(root / "kernels.py", tmp_path / "helper.py")
    (root / "link").symlink_to(tmp_path)
    kernel = kernel_with("its own", held("kernels.py", elsewhere.format(tmp_path=tmp_path)))
    assert kernel.lasting
    assert Boundary(header(str(root))).checked(kernel) == msgspec.structs.replace(kernel, lasting=False)


def test_each_source_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources(tmp_path / "kernels.py", tmp_path / "helper.py")
    read: list[Path] = []

    def noted(path: Path) -> str:
        read.append(path)
        return file_hash(path)

    monkeypatch.setattr(locate, "file_hash", noted)
    boundary = Boundary(header(str(tmp_path)))
    for line in range(5):
        reference = msgspec.structs.replace(held("kernels.py", "helper.py"), line=line)
        assert boundary.checked(kernel_with("its own", reference)).obstacle is None
    assert read == [tmp_path / "kernels.py", tmp_path / "helper.py"]


def test_a_function_without_the_hash_of_its_file_is_refused(tmp_path: Path) -> None:
    sources(tmp_path / "m.py")
    checked = Boundary(header(str(tmp_path))).checked(KERNEL)
    assert checked.obstacle == "cannot be rebuilt: the tape does not tell what m.py held"


def test_generated_code_is_on_the_tape_itself(tmp_path: Path) -> None:
    kernel = kernel_with("its own", msgspec.structs.replace(KERNEL.function, text="..."))
    assert Boundary(header(str(tmp_path))).checked(kernel) is kernel


def test_a_cuda_program_is_of_no_file(tmp_path: Path) -> None:
    kernel = program()
    assert Boundary(header(str(tmp_path))).checked(kernel) is kernel
