"""What is measured of every test under --gpu-matrix. Torch and Triton are stand-ins: what is real needs a GPU."""

from __future__ import annotations

import pytest

from tests.project import Project

# PyTorch's allocator, as far as it is asked: bytes that are allocated now and at most, by GPU.
FAKE_TORCH = """
import sys
import types


class Cuda:
    def __init__(self):
        self.initialized, self.backend, self.resets = False, "native", 0
        self.current, self.peak = [0, 0], [0, 0]

    def is_initialized(self):
        return self.initialized

    def get_allocator_backend(self):
        return self.backend

    def device_count(self):
        return 2

    def allocate(self, device, size):
        self.initialized = True
        self.current[device] += size
        self.peak[device] = max(self.peak[device], self.current[device])

    def free(self, device, size):
        self.current[device] -= size

    def reset_peak_memory_stats(self, device):
        self.resets += 1
        self.peak[device] = self.current[device]

    def memory_allocated(self, device):
        return self.current[device]

    def max_memory_allocated(self, device):
        return self.peak[device]

    def memory_reserved(self, device):
        return self.current[device]

    def empty_cache(self):
        pass


torch = sys.modules["torch"] = types.ModuleType("torch")
torch.__version__, torch._C, torch.cuda = "9.9", types.SimpleNamespace(), Cuda()
knobs = sys.modules["triton.knobs"] = types.ModuleType("triton.knobs")
knobs.compilation = types.SimpleNamespace(listener=None)


def compile_kernel(seconds, cache_hit=False):
    if knobs.compilation.listener:
        times = types.SimpleNamespace(total=seconds * 1e6)
        knobs.compilation.listener(src=None, metadata={}, metadata_group={}, times=times, cache_hit=cache_hit)


torch.compile_kernel = compile_kernel
"""


def metrics(project: Project, test: str, device: str = "h100") -> list[tuple[str, float, str, str]]:
    cell = project.cells(device)[test]
    return [(metric.name, metric.value, metric.unit, metric.better) for metric in cell.metrics]


@pytest.fixture
def fake(project: Project) -> Project:
    project.pytester.makeconftest(FAKE_TORCH)
    return project.matrix().on("h100")


MEMORY = """
import pytest, torch

@pytest.fixture
def model():
    torch.cuda.allocate(0, 50)
    yield
    torch.cuda.free(0, 50)

def test_first(model):
    torch.cuda.allocate(0, 100)
    torch.cuda.allocate(1, 300)
    torch.cuda.free(1, 300)

def test_nothing_more(): ...

def test_on_top_of_what_is_there(model): ...

def test_fails(model):
    torch.cuda.allocate(0, 7)
    assert False
"""


def test_the_peak_of_the_gpu_that_needs_most(fake: Project) -> None:
    fake.tests(MEMORY).recorded()
    assert metrics(fake, "test_first") == [("gpu_memory_peak", 300.0, "B", "lower")]
    assert metrics(fake, "test_nothing_more") == []
    assert metrics(fake, "test_on_top_of_what_is_there") == [("gpu_memory_peak", 150.0, "B", "lower")]
    assert metrics(fake, "test_fails") == [("gpu_memory_peak", 157.0, "B", "lower")]


def test_in_an_xdist_worker_as_well(fake: Project) -> None:
    fake.tests(MEMORY).recorded("-n", "1")
    assert metrics(fake, "test_first") == [("gpu_memory_peak", 300.0, "B", "lower")]


def test_another_allocator_is_not_asked(fake: Project) -> None:
    source = "import torch\ndef test():\n    torch.cuda.backend = 'cudaMallocAsync'\n    torch.cuda.allocate(0, 1)"
    fake.tests(source).recorded()
    assert metrics(fake, "test") == []


def test_nothing_is_measured_without_the_matrix(fake: Project) -> None:
    source = """
import sys, torch
def test_a(): torch.cuda.allocate(0, 1)
def test_b():
    assert torch.cuda.resets == 0
    assert sys.modules["triton.knobs"].compilation.listener is None
"""
    assert fake.tests(source).run().ret == 0


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_what_cannot_be_measured_is_told_and_fails_no_test(fake: Project, workers: tuple[str, ...]) -> None:
    source = """
import torch

def test_a(monkeypatch):
    torch.cuda.allocate(0, 1)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", None)

def test_b(): torch.cuda.allocate(0, 1)
"""
    result = fake.tests(source).recorded(*workers)
    assert result.ret == 0
    note = (
        "gpumatrix: note: gpu_memory_peak is not measured in every test: TypeError: 'NoneType' object is not callable"
    )
    result.stdout.fnmatch_lines([note])
    assert metrics(fake, "test_a") == []
    assert metrics(fake, "test_b") == [("gpu_memory_peak", 2.0, "B", "lower")]


def test_compilers_that_a_test_has_replaced_fail_no_test(fake: Project) -> None:
    source = """
import sys, types
import torch

def test_a(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", types.SimpleNamespace(counters={"inductor": {}}))

def test_b():
    sys.modules["torch._dynamo.utils"] = types.SimpleNamespace(counters={"inductor": {}})

def test_c(): ...

def test_d():
    sys.modules["triton.knobs"].compilation.listener(src=None)  # of a release that tells something else
"""
    result = fake.tests(source).recorded()
    assert result.ret == 0
    note = "gpumatrix: note: compile_time is not measured in every test: KeyError: 'fxgraph_cache_hit'"
    result.stdout.fnmatch_lines([note])


COMPILING = """
import sys, pytest, torch

@pytest.fixture
def compiled(): torch.compile_kernel(1.0)

def test_compiles(compiled): torch.compile_kernel(2.0)
def test_compiles_nothing(): ...
def test_from_a_cache():
    torch.compile_kernel(2.0)
    torch.compile_kernel(0.1, cache_hit=True)
def test_again(): torch.compile_kernel(0.5)
"""


def test_the_seconds_of_compiling(fake: Project) -> None:
    fake.tests(COMPILING).recorded()
    assert metrics(fake, "test_compiles") == [("compile_time", 3.0, "s", "lower")]
    assert metrics(fake, "test_compiles_nothing") == []
    assert metrics(fake, "test_from_a_cache") == []
    assert metrics(fake, "test_again") == [("compile_time", 0.5, "s", "lower")]


OWN = """
import pytest, torch

@pytest.fixture
def measured(gpu_metric):
    torch.cuda.allocate(0, 50)
    yield
    gpu_metric("gpu_memory_peak", 7, "B")

def test_at_its_end(measured): ...
def test_in_its_body(gpu_metric):
    torch.cuda.allocate(0, 50)
    torch.compile_kernel(2.0)
    gpu_metric("compile_time", 1, "s", better="higher")
    gpu_metric("compile_time", 2, "s", better="higher")
"""


def test_what_a_test_records_itself_wins(fake: Project) -> None:
    fake.tests(OWN).recorded()
    assert metrics(fake, "test_at_its_end") == [("gpu_memory_peak", 7.0, "B", "lower")]
    assert metrics(fake, "test_in_its_body") == [
        ("compile_time", 1.0, "s", "higher"),
        ("compile_time", 2.0, "s", "higher"),
        ("gpu_memory_peak", 100.0, "B", "lower"),
    ]


def test_a_run_leaves_triton_as_it_was(fake: Project) -> None:
    source = """
import sys

def pytest_unconfigure():
    print("listener:", sys.modules["triton.knobs"].compilation.listener)
"""
    (fake.path / "late.py").write_text(source)
    result = fake.tests(COMPILING).recorded("-p", "late", "-s")
    result.stdout.fnmatch_lines(["*listener: None"])


def test_torch_is_not_imported_for_it(project: Project) -> None:
    source = "import sys\ndef test(): assert not {'torch', 'triton'} & sys.modules.keys()"
    assert project.matrix().tests(source).on("h100").recorded("-p", "no:randomly").ret == 0


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_the_facts_have_what_the_tests_loaded(project: Project, workers: tuple[str, ...]) -> None:
    built_for = "torch._C._cuda_getArchFlags = lambda: 'sm_80 sm_90'"
    project.matrix().on("h100").tests(f"{FAKE_TORCH}\n{built_for}\ndef test(): ...").recorded(*workers)
    text = (project.path / "out" / "h100.native.xml").read_text()
    assert '<property name="torch_archs" value="sm_80 sm_90" />' in text
    assert '<property name="version_torch" value="9.9" />' in text
