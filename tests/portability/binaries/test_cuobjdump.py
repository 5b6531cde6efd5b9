from __future__ import annotations

import importlib.metadata
import shutil
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.portability.binaries import cuobjdump
from pytest_gpumatrix.portability.binaries.cuobjdump import CannotListError, Cuobjdump, list_ptx
from tests.portability.binaries.samples import CARRIED, SAMPLES, counted


@pytest.fixture(scope="module")
def real() -> Cuobjdump:
    pytest.importorskip("triton", reason="its package has a cuobjdump")
    return Cuobjdump.find()


def stand_in(folder: Path, script: str) -> Cuobjdump:
    """A program in the place of cuobjdump."""
    path = folder / "cuobjdump"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Cuobjdump(path=path, origin="a stand-in")


@pytest.mark.parametrize("name", CARRIED)
def test_what_a_file_carries(real: Cuobjdump, name: str) -> None:
    assert real.list_code(SAMPLES / name) == counted(CARRIED[name])


@pytest.mark.parametrize("name", ["lto.so", "plain.so"])
def test_neither_machine_code_nor_ptx_is_no_list(real: Cuobjdump, name: str) -> None:
    with pytest.raises(CannotListError, match="neither machine code nor PTX"):
        real.list_code(SAMPLES / name)


def test_a_name_is_only_a_name(real: Cuobjdump, tmp_path: Path) -> None:
    hostile = tmp_path / "-x $(touch pwned) 'a'\nELF file    1: x.1.sm_75.cubin\n.so"
    shutil.copyfile(SAMPLES / "hopper.so", hostile)
    assert real.list_code(hostile) == counted("sm_90a")
    assert [path.name for path in tmp_path.iterdir()] == [hostile.name]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo cuobjdump fatal: Invalid ELF in \"'$3'\" >&2; exit 1", "ends with 1: cuobjdump fatal: Invalid ELF$"),
        ("exit 3", "ends with 3: it says nothing"),
        ("kill -SEGV $$", "ends with -11"),
        ("echo 'ELF file    1: file.1.sm_999x.cubin'", "not known here: not an architecture: 'sm_999x'"),
        ("echo 'ELF file    1: file.1.sm_999.cubin'", "not known here: there is no sm_999"),
        ("echo 'ELF file    1: file.1.sm_99a.cubin'", "not known here: there is no sm_99"),
        ("echo 'PTX file    1: file.1.sm_29.ptx'", "not known here: there is no sm_29"),
        ("echo 'ELF file    1: file.1.sm_107f.cubin'", "not known here: there is no sm_107"),
        ("echo 'ELF file    1: file.1.sm_89f.cubin'", "not known here: there is no family target sm_89f"),
        ("echo nothing of that form", "neither machine code nor PTX"),
    ],
)
def test_a_list_that_fails_says_why(tmp_path: Path, script: str, reason: str) -> None:
    with pytest.raises(CannotListError, match=reason):
        stand_in(tmp_path, script).list_code(SAMPLES / "hopper.so")


def test_what_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuobjdump, "_SECONDS", 0.2)
    with pytest.raises(CannotListError, match="did not end within"):
        stand_in(tmp_path, "exec sleep 60").list_code(SAMPLES / "hopper.so")


@pytest.mark.parametrize(("size", "seconds"), [(0, 60), (200 * 10**6, 160), (10**12, 600)])
def test_a_large_file_has_longer_and_none_for_ever(size: int, seconds: float) -> None:
    assert cuobjdump.seconds_for(size) == seconds


def test_a_program_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotListError, match="missing cannot be run: No such file"):
        Cuobjdump(path=tmp_path / "missing", origin="nowhere").list_code(SAMPLES / "hopper.so")


@pytest.mark.parametrize(
    ("text", "arch"),
    [
        (".version 9.0\n.target sm_90a\n.address_size 64\n", "compute_90a"),
        ("// comment\n  .target sm_80, debug\n", "compute_80"),
    ],
)
def test_ptx_says_what_it_is_for(tmp_path: Path, text: str, arch: str) -> None:
    file = tmp_path / "a.ptx"
    file.write_text(text)
    assert list_ptx(file) == {Binary.parse(arch, ptx=True): 1}


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\x00", b".target sm_107f\n", b".target sm_29\n", b"// .target\n", b".target compute_80"],
)
def test_what_is_no_ptx_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.ptx"
    file.write_bytes(content)
    with pytest.raises(CannotListError):
        list_ptx(file)


def test_without_a_cuobjdump_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GpuMatrixError, match="pip install nvidia-cuda-cuobjdump"):
        Cuobjdump.find()
    tool = stand_in(tmp_path, "exit 0")
    assert Cuobjdump.find() == Cuobjdump(path=tool.path, origin=str(tool.path))
