from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.portability.binaries.candidates import NotRead, find_candidates
from tests.portability.binaries.samples import SAMPLES
from tests.portability.binaries.test_sections import windows_library


def put(source: str, place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(SAMPLES / source, place))


def found(root: Path) -> tuple[list[str], dict[str, str]]:
    """The names of the candidates, and of what could not be read with the reason."""
    items = [item for item in find_candidates(root) if item is not None]
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
    with pytest.raises(GpuMatrixError, match=r"plain\.so carries no CUDA code: name a library"):
        list(find_candidates(SAMPLES / "plain.so"))


def test_a_file_without_cuda_code_is_counted(tmp_path: Path) -> None:
    put("library.so", tmp_path / "a.so")
    put("plain.so", tmp_path / "b" / "plain.so")
    put("plain.so", tmp_path / "b" / "README.md")
    assert list(find_candidates(tmp_path)) == [tmp_path / "a.so", None, None]


ARCHIVES = ["p-1.0-py3-none-any.whl", "a.zip", "a.egg", "a.tar", "a.tar.gz", "A.TGZ", "a.tar.zst", "a.conda"]


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_is_named_and_not_read(tmp_path: Path, name: str) -> None:
    put("library.so", tmp_path / name)
    reason = "an archive: unpack it, and scan what was in it"
    assert found(tmp_path) == ([], {name: reason})
    assert list(find_candidates(tmp_path / name)) == [NotRead(path=tmp_path / name, reason=reason)]


@pytest.mark.parametrize("before", [0, 2**20 - 5])
def test_a_static_library_is_named_if_it_carries_cuda_code(tmp_path: Path, before: int) -> None:
    member = (SAMPLES / "library.so").read_bytes()
    names = member[member.index(b".nv_fatbin") :]  # across the border of what is read at a time, or not
    (tmp_path / "with.a").write_bytes(b"!<arch>\n".ljust(before, b" ") + names)
    (tmp_path / "without.a").write_bytes(b"!<arch>\n" + (SAMPLES / "plain.so").read_bytes())
    files, not_read = found(tmp_path)
    assert (files, list(not_read)) == ([], ["with.a"])
    assert not_read["with.a"].startswith("a static library with CUDA code: unpack it")


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
