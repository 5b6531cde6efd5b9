"""Several processes at one file, one of them killed, and files that may only be read."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_gpumatrix.errors import GpuMatrixError
from pytest_gpumatrix.history.read import known_tests
from pytest_gpumatrix.history.store import open_history
from tests.history.runs import add, histories

ROOT = Path(__file__).parents[2]
ADDS = """\
import sys
from pathlib import Path
from tests.history.runs import add
path, who = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for day in range(8):
    cells = {f"t{number}": "failed" for number in range(300)}
    add(path, who * 100 + day, {f"h{who}": cells, "shared": cells})
"""
DIES = """\
import os, signal, sys
from pathlib import Path
from pytest_gpumatrix.history.store import open_history
with open_history(Path(sys.argv[1])) as store, store.writing() as connection:
    # More than is kept in memory: what is not committed is in the file by then.
    connection.execute("PRAGMA cache_size = 10")
    connection.execute("DELETE FROM result WHERE run = 1")
    connection.execute("INSERT INTO revision (hash, time) VALUES ('f', 0)")
    connection.executemany("INSERT INTO test (name) VALUES (?)", [(f"half {n}",) for n in range(20000)])
    print("half way", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"  # they make it, too
    writers = [start(ADDS, path, who) for who in (1, 2)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    found = histories(path, "t7")["t7"]
    assert {device: len(history.results) for device, history in found.items()} == {"h1": 8, "h2": 8, "shared": 16}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing can be killed so here")
def test_a_writer_that_is_killed_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    tests = [f"t{number}" for number in range(2000)]
    add(path, 1, {"h100": dict.fromkeys(tests, "failed")})
    before = histories(path, *tests)
    whole = path.read_bytes()
    writer = start(DIES, path)
    out, errors = writer.communicate(timeout=120)
    assert (out, writer.returncode) == ("half way\n", -signal.SIGKILL), errors
    assert path.with_name("history.sqlite-journal").exists()
    assert path.read_bytes() != whole  # it was half way indeed
    with open_history(path) as store:
        assert known_tests(store) == tuple(sorted(tests))
    assert histories(path, *tests) == before
    assert add(path, 2, {"h100": {"t1": "passed"}}).results == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["history.sqlite"]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, whom no permission stops."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def closed() -> Iterator[Path]:
    """A history that may be read and not written, in a folder where nothing may be made."""
    folder = Path(tempfile.mkdtemp())
    path = folder / "history.sqlite"
    add(path, 1, {"h100": {"t": "failed"}})
    path.chmod(0o444)
    folder.chmod(0o555)
    yield path
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no permissions as POSIX has them")
def test_what_may_not_be_written_can_be_read(closed: Path) -> None:
    with as_nobody():
        assert histories(closed, "t")["t"]["h100"].failing_since is not None
        with pytest.raises(GpuMatrixError, match="it cannot be written; check the permissions"):
            add(closed, 2, {"h100": {"t": "failed"}})


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no permissions as POSIX has them")
def test_what_may_not_be_read_is_named(closed: Path) -> None:
    closed.chmod(0o000)
    with as_nobody(), pytest.raises(GpuMatrixError, match="Permission denied"):
        open_history(closed)
