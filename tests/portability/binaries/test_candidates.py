from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pytest_gpumatrix.portability.binaries.candidates import NotRead, find_candidates
from tests.portability.binaries.samples import SAMPLES
from tests.portability.binaries.test_sections import windows_library


def put(source: str, place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(SAMPLES / source, place))


def found(root: Path) -> tuple[list[str], dict[str, str]]:
    """The names of the candidates, and of what could not be read with the reason."""
    items = list(find_candidates(root))
    files = [str(item.relative_to(root)) for item in items if isinstance(item, Path)]
    return files, {str(item.path.relative_to(root)): item.reason for item in items if isinstance(item, NotRead)}


def test_files_are_found_by_name_and_by_their_sections(tmp_path: Path) -> None:
    for name in ["a.so", "b.so.2", "c/d.cpython-312-x86_64-linux-gnu.so", "e.o", "h.txt", "i", "__pycache__/j.so"]:
        put("library.so", tmp_path / name)
    put("plain.so", tmp_path / "plain.so")
    for name in ["add.cubin", "add.fatbin", "add.ptx"]:
        put(name, tmp_path / "kernels" / name)
    program = put("library.so", tmp_path / "program")
    program.chmod(0o755)
    assert found(tmp_path) == (
        [
            "a.so",
            "b.so.2",
            "e.o",
            "program",
            "c/d.cpython-312-x86_64-linux-gnu.so",
            "kernels/add.cubin",
            "kernels/add.fatbin",
            "kernels/add.ptx",
        ],
        {},
    )


def test_one_file_may_be_given(tmp_path: Path) -> None:
    assert list(find_candidates(SAMPLES / "hopper.so")) == [SAMPLES / "hopper.so"]
    [nothing] = find_candidates(SAMPLES / "plain.so")
    assert nothing == NotRead(path=SAMPLES / "plain.so", reason="it carries no CUDA code")


def test_a_file_with_several_names_is_one(tmp_path: Path) -> None:
    put("library.so", tmp_path / "a.so.1.2")
    (tmp_path / "a.so").symlink_to("a.so.1.2")
    (tmp_path / "b.so").hardlink_to(tmp_path / "a.so.1.2")
    assert found(tmp_path) == (["a.so"], {})


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put("library.so", root / "lib" / "a.so")
    (root / "lib64").symlink_to("lib")
    (root / "lib" / "up").symlink_to("..")
    put("hopper.so", tmp_path / "elsewhere" / "b.so")
    (root / "outside").symlink_to(tmp_path / "elsewhere")
    assert found(root) == (["lib/a.so"], {"outside": "a link to a folder elsewhere: scan that folder too"})


def test_what_is_no_file_is_named_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.so")  # to open it would wait for ever
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop.so").symlink_to("loop.so")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "broken.so").symlink_to("nowhere")
    (tmp_path / "folder.so").mkdir()
    files, not_read = found(tmp_path)
    assert files == []
    assert not_read == {
        "broken.so": "it cannot be read: No such file or directory",
        "loop.so": "it cannot be read: Too many levels of symbolic links",
        "pipe.so": "it is no regular file",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    put("library.so", tmp_path / "closed.so").chmod(0)
    (tmp_path / "folder").mkdir(mode=0)
    assert found(tmp_path) == (
        [],
        {"closed.so": "it cannot be read: Permission denied", "folder": "it cannot be read: Permission denied"},
    )


def test_what_is_cut_off_or_of_windows_is_named(tmp_path: Path) -> None:
    (tmp_path / "cut.so").write_bytes((SAMPLES / "library.so").read_bytes()[:6000])
    (tmp_path / "cuda.pyd").write_bytes(windows_library(b".text", b".nv_fatbin"))
    (tmp_path / "plain.dll").write_bytes(windows_library(b".text"))
    assert found(tmp_path) == (
        [],
        {
            "cuda.pyd": "it carries CUDA code in Windows' format, which is not read",
            "cut.so": "whether it carries CUDA code cannot be told: it is cut off",
        },
    )
