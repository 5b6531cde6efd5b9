"""``gpumatrix scan --binaries``, by real libraries and the real cuobjdump."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_gpumatrix.cli import main
from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.binaries.cuobjdump import Cuobjdump
from tests.portability.binaries.samples import SAMPLES
from tests.portability.binaries.test_environment import install

pytest.importorskip("triton", reason="its package has a cuobjdump")


@pytest.fixture(autouse=True)
def no_gpumatrix_yml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Two distributions, one of them with two libraries that differ, and a folder of nobody's."""
    folder = tmp_path / "site-packages"
    install(folder, "one", "1.0", "one/library.so")
    install(folder, "two", "2.0", "two/hopper.so", "two/two.so")
    for name in ("one/library.so", "two/hopper.so", "two/two.so", "nobody/add.cubin", "nobody/plain.so"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(SAMPLES / Path(name).name, folder / name)
    return folder


def test_libraries_by_distribution(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "--binaries", str(packages), "--devices", "rtx-3090,h100-sxm,12.0,7.5"]) == 1
    lines = capsys.readouterr().out
    text = " ".join(lines.split())
    for sentence in (
        "nobody: sm_86; leaves out: h100-sxm (9.0), 12.0, 7.5",
        "one 1.0: sm_80 sm_90a + compute_90 PTX; by PTX, which the driver translates at the first start: 12.0; leaves",
        "two 2.0: hopper.so: sm_90a; leaves out: rtx-3090 (8.6), 12.0, 7.5 two.so: sm_80 sm_90a + compute_90 PTX;",
        "rtx-3090 (8.6): of 2 files machine code in 1, nothing in 1 12.0: of 2 files PTX alone in 1, nothing in 1",
        "4 files carry CUDA code: some leave out rtx-3090 (8.6), h100-sxm (9.0), 12.0, 7.5.",
    ):
        assert sentence in text
    assert "h100-sxm (9.0): of" not in text  # both of its files have machine code for it
    assert max(map(len, lines.splitlines())) <= 80


def test_few_pieces_of_code_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A library of many kernels of which one is for another GPU runs there only in a small part."""
    from pytest_gpumatrix.hardware import catalogue
    from pytest_gpumatrix.portability.binaries.environment import Origin
    from pytest_gpumatrix.portability.binaries.support import Carried, Coverage
    from pytest_gpumatrix.render.binaries import render_binaries
    from tests.portability.binaries.test_support import library

    carried = Carried(origin=Origin(name="p", version="1"), libraries=(library("sm_80 " * 9 + "sm_90a"),))
    devices = {"h100": catalogue.load().resolve("h100-sxm"), "a100": catalogue.load().resolve("a100-80gb")}
    coverage = Coverage(environment="here", tool=None, devices=devices, carried=[carried], not_read=[], files=1)
    assert "p 1: sm_80 sm_90a (1 of 9); few pieces of code for: h100 (9.0) 1 of 9" in render_binaries(coverage)


def test_json_has_each_file(packages: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    arguments = ["--devices", "8.6", "--format", "json", "--output", str(output)]
    assert main(["scan", "--binaries", str(packages), *arguments]) == 1
    told = json.loads(output.read_text())
    assert told["devices"] == {"8.6": {"profile": "8.6", "capability": "8.6"}}
    assert told["left_out"] == ["8.6"]
    assert [(entry["name"], entry["version"], len(entry["libraries"])) for entry in told["distributions"]] == [
        ("nobody", None, 1),
        ("one", "1.0", 1),
        ("two", "2.0", 2),
    ]
    assert told["distributions"][2]["libraries"][1] == {
        "path": str(packages / "two" / "two.so"),
        "read_by": "cuobjdump",
        "machine_code": {"sm_80": 2, "sm_90a": 1},
        "ptx": {"compute_90": 1},
        "devices": {"8.6": {"runs": "machine-code", "pieces": 2}},
    }


@pytest.mark.parametrize(
    ("files", "devices", "exit_code"),
    [
        (["library.so"], "8.0,8.6,9.0,12.0", 0),
        (["library.so"], "8.0,7.5", 1),
        (["plain.so"], "7.5", 0),
        (["library.so", "lto.so"], "8.0", 3),
        (["hopper.so", "lto.so"], "8.0", 1),
        (["add.ptx"], "9.0", 0),
        (["library.so", "a.whl"], "8.0", 3),
        (["hopper.so", "a.whl"], "8.0", 1),
    ],
)
def test_exit_codes(tmp_path: Path, files: list[str], devices: str, exit_code: int) -> None:
    for name in files:
        source = SAMPLES / name if (SAMPLES / name).exists() else SAMPLES / "library.so"
        shutil.copyfile(source, tmp_path / name)
    assert main(["scan", "--binaries", str(tmp_path), "--devices", devices]) == exit_code


@pytest.mark.parametrize(
    ("files", "exit_code", "last"),
    [
        ([], 0, "no CUDA code found in 0 files."),
        (["README.md"], 0, "no CUDA code found in 1 file."),
        (["README.md", "plain.so"], 0, "no CUDA code found in 2 files."),
        (["README.md", "a.zip"], 3, "no CUDA code found in 2 files; 1 could not be read."),
    ],
)
def test_a_folder_without_cuda_code_is_not_said_to_leave_no_device_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: list[str], exit_code: int, last: str
) -> None:
    for name in files:
        shutil.copyfile(SAMPLES / "plain.so", tmp_path / name)
    assert main(["scan", "--binaries", str(tmp_path), "--devices", "8.6"]) == exit_code
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_an_archive_may_not_be_given_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copyfile(SAMPLES / "library.so", tmp_path / "a.whl")
    assert main(["scan", "--binaries", "a.whl", "--devices", "8.0"]) == 3
    assert "an archive: unpack it, and scan what was in it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--binaries", "nowhere", "--devices", "8.6"], "nowhere: No such file or directory"),
        (["--binaries", "README.md", "--devices", "8.6"], "README.md carries no CUDA code: name a library"),
        (["--binaries", ".", "--devices", "rtx-9999"], "rtx-9999"),
        (["--binaries", "."], "no device to look at"),
    ],
)
def test_mistakes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("words")
    assert main(["scan", *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_the_environment_of_this_python_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "--binaries", "--devices", "9.0"]) in (0, 1, 3)
    assert "CUDA code in the environment of" in capsys.readouterr().out


def test_no_cuobjdump_is_a_mistake_only_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find() -> Cuobjdump:
        raise GpuMatrixError("there is no cuobjdump here")

    monkeypatch.setattr(Cuobjdump, "find", find)
    shutil.copyfile(SAMPLES / "add.ptx", tmp_path / "add.ptx")
    assert main(["scan", "--binaries", str(tmp_path), "--devices", "9.0"]) == 0
    shutil.copyfile(SAMPLES / "hopper.so", tmp_path / "hopper.so")
    assert main(["scan", "--binaries", str(tmp_path), "--devices", "9.0"]) == 2


def test_where_cuobjdump_fails_the_headers_are_read_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "cuobjdump"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(Cuobjdump, "find", lambda: Cuobjdump(path=broken, origin="a stand-in"))
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("library.so", "add.cubin"):
        shutil.copyfile(SAMPLES / name, folder / name)
    assert main(["scan", "--binaries", str(folder), "--devices", "8.0"]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert "library.so: sm_80 sm_90a + compute_90 PTX" in text
    assert "By its own headers, for cuobjdump fails: library.so" in text
    assert "/add.cubin cuobjdump ends with 1: it says nothing; nor can its headers be read: it has no section" in text


def test_a_hostile_name_is_shown_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copyfile(SAMPLES / "hopper.so", tmp_path / "a\x1b[31m\n::error::b.so")
    main(["scan", "--binaries", str(tmp_path), "--devices", "8.6"])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert not any(line.startswith("::error::") for line in out.splitlines())
