"""Where a file is written that is none."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from pytest_gpumatrix.record import atomic
from pytest_gpumatrix.record.atomic import write_atomically


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(pipe, b"content")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(30)
    assert read == [b"content"]


def test_the_name_of_a_stream_stays_though_it_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_DEVICES", tmp_path)
    (tmp_path / "log").touch()
    (tmp_path / "stdout").symlink_to("log")
    write_atomically(tmp_path / "stdout", b"content")
    assert (tmp_path / "stdout").is_symlink()
    assert (tmp_path / "log").read_bytes() == b"content"


def test_a_link_is_replaced_and_what_it_names_is_left(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"kept")
    (tmp_path / "report").symlink_to("kept")
    write_atomically(tmp_path / "report", b"content")
    assert (tmp_path / "report").read_bytes() == b"content"
    assert (tmp_path / "kept").read_bytes() == b"kept"


def test_a_folder_is_left_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path / "folder", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
