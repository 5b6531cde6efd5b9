"""What a compiling process started ends with it, however that comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pytest_gpumatrix.portability.compiling import compiling_process
from pytest_gpumatrix.portability.compiling.compile_job import Job
from pytest_gpumatrix.portability.compiling.compiling_process import CompilingProcess, compiling_environment
from pytest_gpumatrix.portability.compiling.pool import run_jobs
from tests.portability.compiling.hostile_jobs import SOURCE, program

# Starts a process of its own, as Triton starts the assembler, and says which.
STARTING_WORKER = """
import os, pathlib, subprocess, sys, time, msgspec
from pytest_gpumatrix.portability.compiling.compile_job import Started

own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
pathlib.Path(sys.argv[2], "pids.part").write_text(f"{os.getpid()} {own.pid}")
os.rename(pathlib.Path(sys.argv[2], "pids.part"), pathlib.Path(sys.argv[2], "pids"))
os.write(1, msgspec.json.encode(Started()) + b"\\n")
END
"""


def pids_of(folder: Path) -> Iterator[int]:
    yield from map(int, (folder / "pids").read_text().split())


def has_ended(pid: int) -> bool:
    """Gone, or a zombie, which nobody here may reap."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for_end(pids: list[int]) -> None:
    while not all(map(has_ended, pids)):
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("end", ["time.sleep(3600)", "os.abort()"])
def test_what_a_compiling_process_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(compiling_process, "_START", STARTING_WORKER.replace("END", end))
    jobs = [Job(kernel=program(SOURCE, {}), arch="sm_86")]
    while not (tmp_path / "pids").exists():  # a slow machine may need more time to come so far
        list(
            run_jobs(
                jobs,
                processes=1,
                start=lambda: CompilingProcess(tmp_path, sys.path, compiling_environment(os.environ)),
                budget_seconds=2.0,
            )
        )
    wait_for_end(list(pids_of(tmp_path)))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_no_process_and_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    tape = tmp_path / "launches.tape.jsonl"
    header = {"record": "header", "schema": 4, "rootdir": str(tmp_path), "sys_path": [], "capability": None}
    launch = {"record": "launch", "test": "t", "kernel": msgspec.to_builtins(program(SOURCE, {}))}
    tape.write_bytes(b"\n".join(map(msgspec.json.encode, [{**header, "versions": {}}, launch])) + b"\n")
    script = (
        "import signal, sys\nfrom pytest_gpumatrix.portability.compiling import compiling_process\n"
        "from pytest_gpumatrix import cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"compiling_process._START = {STARTING_WORKER.replace('END', 'time.sleep(3600)')!r}\n"
        f"sys.exit(cli.main(['compile', {str(tape)!r}, '--devices', '8.6']))"
    )
    environment = {**os.environ, "TMPDIR": str(temporary), "GPUMATRIX_CACHE_DIR": str(tmp_path / "cache")}
    command = subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        while not (tmp_path / "pids").exists():
            assert command.poll() is None, command.communicate()
        command.send_signal(number)
        command.communicate()
    finally:
        command.kill()
    assert command.returncode == 128 + number
    wait_for_end(list(pids_of(tmp_path)))
    assert list(temporary.iterdir()) == []
