"""What a failing test leaves beside its traceback: where in the project it failed, why, and how the GPU was."""

from __future__ import annotations

import pytest

from pytest_gpumatrix.record.cell import Cell, Place
from pytest_gpumatrix.record.journal import read_journal
from tests.project import Project

PLACES = """
import os
import unittest

import pytest

import helper

def test_own_line():
    assert 1 == 2  # test_own_line

def test_helper():
    helper.check(2)

@pytest.fixture
def broken():
    raise ValueError("setup")  # test_fixture

def test_fixture(broken): ...

class TestSub(unittest.TestCase):
    def test_sub(self):
        with self.subTest():
            self.fail("no")  # TestSub::test_sub

@pytest.mark.xfail(strict=True)  # test_passes_unexpectedly
def test_passes_unexpectedly(): ...

@pytest.mark.xfail
def test_fails_as_expected(): assert False

def test_passes(): ...

def test_dies(): os._exit(3)
"""


def cells(project: Project) -> dict[str, Cell]:
    """Those that the journal keeps."""
    column, _ = read_journal(project.path / "out" / "h100.native.jsonl")
    return {test.partition("::")[2]: cell for test, cell in column.cells.items()}


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_where_it_failed(project: Project, workers: tuple[str, ...]) -> None:
    (project.path / "helper.py").write_text("def check(x):\n    assert x == 3\n")
    project.matrix().on("h100").tests(PLACES).recorded(*workers)
    lines = enumerate((project.path / "test_it.py").read_text().splitlines(), start=1)
    marked = {
        line.partition("  # ")[2]: Place(file="test_it.py", line=number) for number, line in lines if "  # " in line
    }
    assert {test: cell.place for test, cell in cells(project).items()} == {
        **marked,
        "test_helper": Place(file="helper.py", line=2),
        "test_fails_as_expected": None,
        "test_passes": None,
        "test_dies": Place(file="test_it.py"),
    }


def test_where_a_module_that_cannot_be_imported_broke(project: Project) -> None:
    """A kernel that is compiled for one architecture breaks just here on another."""
    (project.path / "kernels.py").write_text(
        "import sys\nprint('ptxas fatal', file=sys.stderr)\n"
        "raise RuntimeError('CUDA error: no kernel image is available for execution on the device')\n"
    )
    for workers in ((), ("-n", "1")):
        project.matrix().on("h100").tests("import kernels\ndef test(): ...").recorded(*workers)
        column, _ = read_journal(project.path / "out" / "h100.native.jsonl")
        cell = column.cells["test_it.py"]
        assert cell.place == Place(file="kernels.py", line=3)
        assert cell.cause is not None
        assert cell.cause.category.value == "no_kernel_image"


def cause(cell: Cell) -> tuple[str, str]:
    assert cell.cause is not None
    return cell.cause.category.value, cell.cause.reason


OOM = """
import pytest
@pytest.mark.gpu
def test_full():
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")
"""


@pytest.mark.parametrize(
    ("others", "category", "gpu"),
    [
        ("", "device_oom", "79.65 GiB of 79.65 GiB free, 0 B by other processes"),
        ("41:70000 42:5000", "device_oom_shared", "6.405 GiB of 79.65 GiB free, 73.24 GiB by other processes"),
    ],
)
def test_memory_that_others_hold(project: Project, others: str, category: str, gpu: str) -> None:
    project.monkeypatch.setenv("FAKE_OTHERS", others)
    result = project.matrix().on("h100").tests(OOM).recorded()
    assert result.ret == 1
    cell = cells(project)["test_full"]
    assert cause(cell)[0] == category
    assert cell.details.splitlines()[-1] == f"GPU at the failure: {gpu}"
    line = "gpumatrix: the machine is at fault, not the code: device_oom_shared on h100 (1), first in test_it.py::*"
    if category == "device_oom_shared":
        result.stdout.fnmatch_lines([line])
    else:
        result.stdout.no_fnmatch_line("*the machine is at fault*")


STICKY = """
import sys
import pytest

@pytest.mark.gpu
def test_breaks():
    raise RuntimeError("CUDA error: an illegal memory access was encountered")

@pytest.mark.gpu
def test_after_it():
    raise RuntimeError("CUDA error: an illegal memory access was encountered")

@pytest.mark.gpu
def test_of_something_else():
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

def test_without_cuda():
    assert 1 == 2
"""


def test_after_an_error_that_breaks_cuda(project: Project) -> None:
    project.matrix().on("h100").tests(STICKY).recorded()
    causes = {test: cause(cell) for test, cell in cells(project).items()}
    assert causes["test_breaks"][0] == "sticky_crash"
    assert causes["test_breaks"][1] != "cascade"
    assert causes["test_after_it"] == ("sticky_crash", "cascade")
    assert causes["test_of_something_else"] == ("sticky_crash", "cascade")
    assert causes["test_without_cuda"] == ("genuine_failure", "")


def test_an_expected_failure_breaks_cuda_as_well(project: Project) -> None:
    source = STICKY.replace(
        "@pytest.mark.gpu\ndef test_breaks",
        '@pytest.mark.gpu\n@pytest.mark.gpu_xfail(">=8.0", reason="known")\ndef test_breaks',
    )
    # Expected failures run last; so that one comes after it, it is expected too, and to fail otherwise.
    source = source.replace(
        "@pytest.mark.gpu\ndef test_after_it",
        '@pytest.mark.gpu\n@pytest.mark.gpu_xfail(">=8.0", cause="no_kernel_image", reason="old")\ndef test_after_it',
    )
    project.matrix().on("h100").tests(source).recorded()
    assert cells(project)["test_breaks"].outcome.value == "xfailed"
    assert cause(cells(project)["test_after_it"]) == ("sticky_crash", "cascade")


def test_a_gpu_that_is_lost(project: Project) -> None:
    """NVML says so, whatever the test met of it."""
    project.monkeypatch.setenv("FAKE_LOST", "GPU-00000000-0000-0000-0000-000000000000")
    source = "import pytest\n@pytest.mark.gpu\ndef test_a():\n    raise RuntimeError('unspecified')"
    project.matrix().on("h100").tests(source).recorded()
    cell = cells(project)["test_a"]
    assert cause(cell)[0] == "device_state"
    assert cell.details.endswith(
        "GPU at the failure: NVML does not read GPU-00000000-0000-0000-0000-000000000000: GPU is lost"
    )


def test_what_was_written_to_standard_error(project: Project) -> None:
    """C code that cannot raise prints, and what Python says of it afterwards is vague."""
    source = """
import os
def test_a():
    os.write(2, b"CUDA error (hopper/launch.h:188): no kernel image is available for execution on the device\\n")
    raise RuntimeError("the extension failed")
"""
    project.matrix().on("h100").tests(source).recorded()
    assert cause(cells(project)["test_a"])[0] == "no_kernel_image"


def test_what_a_test_prints_does_not_excuse_its_assertion(project: Project) -> None:
    """Nor does it make a cascade of what fails after it."""
    (project.path / "helper.py").write_text("def check(x):\n    assert x == 3, 'not three'\n")
    source = """
import os, unittest
import helper

FAULT = b"CUDA error: uncorrectable ECC error encountered\\nXid (PCI:0000:3b:00): 79, GPU has fallen off the bus\\n"

def test_assertion():
    os.write(2, FAULT)
    assert 1 == 2

def test_helper():
    os.write(2, FAULT)
    helper.check(2)

class TestUnit(unittest.TestCase):
    def test_unittest(self):
        os.write(2, FAULT)
        self.assertIn("CUDA error: uncorrectable ECC error encountered", "the log")

def test_of_a_child():
    os.write(2, b"CUDA error: an illegal memory access was encountered\\n")
    raise RuntimeError("the child died")

def test_after_it():
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
"""
    result = project.matrix().on("h100").tests(source).recorded()
    assert result.ret == 1
    causes = {test: cause(cell)[0] for test, cell in cells(project).items()}
    assert causes == {
        "test_assertion": "genuine_failure",
        "test_helper": "genuine_failure",
        "TestUnit::test_unittest": "genuine_failure",
        "test_of_a_child": "sticky_crash",
        "test_after_it": "no_kernel_image",
    }


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_a_process_that_died_leaves_no_word(project: Project, workers: tuple[str, ...]) -> None:
    """Also where the test's own name says something."""
    source = """
import os, pytest
@pytest.mark.parametrize("x", ["CUDA error: uncorrectable ECC error encountered"])
def test_a(x): os._exit(3)
"""
    project.matrix().on("h100").tests(source).recorded(*workers)
    (cell,) = cells(project).values()
    assert cell.outcome.value == "crashed"
    assert cause(cell)[0] == "unknown"
    assert cell.place == Place(file="test_it.py")
