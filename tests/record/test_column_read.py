"""Reading in two processes: the same as in one."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.record.cell import Cell, Metric, Place
from pytest_gpumatrix.record.column import Column, SessionFacts
from pytest_gpumatrix.record.junit_write import write_junit
from pytest_gpumatrix.record.outcome import Evidence, Outcome
from pytest_gpumatrix.triage.cause import Action, Category, Cause

CAUSE = Cause(category=Category.ONCHIP_LIMIT, action=Action.SKIP, advice="Use less.", rule="limit", note="n")
EXAMPLES = [
    Cell(test="t.py::a", outcome=Outcome.PASSED, evidence=Evidence.NATIVE, requirement="gpu()", duration=0.5),
    Cell(
        test="t.py::b",
        outcome=Outcome.FAILED,
        evidence=Evidence.NATIVE,
        reruns=1,
        message="boom",
        details="trace",
        cause=CAUSE,
        metrics=(Metric(name="m", value=1.5, unit="ms"),),
        place=Place(file="t.py", line=3),
        slow=("it spills",),
    ),
]
# In a process of its own: this one may have threads.
COMPARE = """
import os, sys, time
from pathlib import Path
from pytest_gpumatrix.record import column_read
from pytest_gpumatrix.record.results import read_results

folder, how = Path(sys.argv[1]), sys.argv[2]
told = []
one = read_results(folder)
column_read._WORTH_A_PROCESS, column_read._may_fork = 1, lambda: True
if how == "dies":
    column_read._read_there = lambda *_: os._exit(3)
if how == "is killed":
    def killed(_, sender, *__):
        os.write(sender.fileno(), bytes([0, 0, 1, 0]) + b"a part of its answer")
        os.kill(os.getpid(), 9)
    column_read._read_there = killed
if how == "is left":
    def left(groups, *_):
        print(os.getpid(), flush=True)
        os.kill(os.getppid(), 9)
        read(groups, *_)
    read, column_read._read_there = column_read._read_there, left
    column_read._read = lambda group: column_read.ReadColumn(cut_off="long " * 1_000_000)
    column_read._read_each = lambda *_: time.sleep(60)
two = read_results(folder, progress=lambda *numbers: told.append(numbers))
assert two == one, (two, one)
assert len(two.columns) == 6 and two.broken and two.refused
assert told == [(n, 8) for n in range(1, 5)], told  # of 8 columns 4 are read here
print("equal")
"""


def compare(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", COMPARE, str(folder), how]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Columns, one that is cut off, and one that is refused."""
    found = {cell.test: cell for cell in EXAMPLES}
    for number in range(6):
        facts = SessionFacts(
            gpu_name=f"GPU {number}", gpu_compute_capability=ComputeCapability(9, 0), versions={"torch": "2.11.0"}
        )
        column = Column(device=f"d{number}", evidence=Evidence.NATIVE, cells=found, facts=facts)
        write_junit(column, tmp_path / f"d{number}.native.xml")
    (tmp_path / "cut.native.xml").write_text("<testsuites>")
    (tmp_path / "bomb.native.xml").write_text("<!DOCTYPE x><testsuites/>")
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot copy a process")
def test_two_processes_read_the_same(folder: Path) -> None:
    result = compare(folder, "lives")
    assert (result.stdout, result.stderr) == ("equal\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot copy a process")
def test_a_process_that_dies_loses_nothing_silently(folder: Path) -> None:
    result = compare(folder, "dies")
    assert result.returncode == 1
    assert "RuntimeError: the process that reads half of the files ended with 3" in result.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot copy a process")
def test_a_process_that_is_killed_is_the_machines_fault(folder: Path) -> None:
    result = compare(folder, "is killed")
    assert "InfraError: the process that reads half of the files was killed (SIGKILL)" in result.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot copy a process")
def test_a_process_whose_parent_is_killed_ends(folder: Path) -> None:
    """Its standard output is at its end when nobody writes to it any more."""
    command = [sys.executable, "-W", "error", "-c", COMPARE, str(folder), "is left"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout is not None
        left = int(parent.stdout.readline())
        ended = select.select([parent.stdout], [], [], 30)[0]
        if not ended:
            os.kill(left, signal.SIGKILL)
        assert ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot copy a process")
def test_a_folder_whose_name_is_no_text_is_read(folder: Path) -> None:
    odd = folder.parent / os.fsdecode(b"\xff")
    try:
        folder.rename(odd)
    except OSError:
        pytest.skip("this file system keeps names as text")
    script = COMPARE.replace("assert told == [(n, 8) for n in range(1, 5)], told", "assert len(told) == 8")
    result = subprocess.run([sys.executable, "-c", script, odd, "lives"], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("equal\n", "")
