from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.judging.locate import Boundary, located
from pytest_gpumatrix.portability.tape.tape import SCHEMA, Header
from tests.portability.judging.builders import KERNEL, program

ELSEWHERE = "/home/ci/project"
TAPE = Path("launches.tape.jsonl")


def header(rootdir: str, *sys_path: str) -> Header:
    return Header(schema=SCHEMA, rootdir=rootdir, sys_path=sys_path)


def test_a_tape_of_this_machine_is_looked_for_where_it_was_recorded(tmp_path: Path) -> None:
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
@pytest.mark.parametrize("way", ["its own", "a constant", "an option"])
def test_a_kernel_of_a_file_outside_is_refused(tmp_path: Path, file: str, inside: bool, way: str) -> None:
    root, packages = tmp_path / "root", tmp_path / "packages"
    root.mkdir()
    packages.mkdir()
    (root / "link").symlink_to(tmp_path)
    boundary = Boundary(header(str(root), str(packages)))
    reference = msgspec.structs.replace(KERNEL.function, file=file.format(packages=packages))
    encoded = {"tuple": [{"function": msgspec.to_builtins(reference)}]}
    ways: dict[str, dict[str, Any]] = {
        "its own": {"function": reference},
        "a constant": {"constants": (((0,), encoded),)},
        "an option": {"options": {"hook": encoded}},
    }
    kernel = msgspec.structs.replace(KERNEL, **ways[way])
    checked = boundary.checked(kernel)
    if inside:
        assert checked is kernel
    else:
        assert checked.obstacle is not None
        assert checked.obstacle.startswith(f"cannot be rebuilt: {reference.file} is outside of {root}")


def test_a_cuda_program_is_of_no_file(tmp_path: Path) -> None:
    kernel = program()
    assert Boundary(header(str(tmp_path))).checked(kernel) is kernel
