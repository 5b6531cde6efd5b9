"""A Hopper GPU with more memory than an RTX 3090 poses as one. Without such a GPU everything here is skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.hardware import catalogue
from pytest_gpumatrix.hardware.detection import detect
from pytest_gpumatrix.portability.emulation.posing import posing
from pytest_gpumatrix.record.results import read_results

torch = pytest.importorskip("torch")

GIB = 2**30
RTX_3090 = catalogue.load().resolve("rtx-3090")
T4 = catalogue.load().resolve("t4")
GPUS = detect(os.environ).gpus
pytestmark = [
    pytest.mark.skipif(
        not GPUS or not torch.cuda.is_available() or (GPUS[0].capability.major, GPUS[0].memory > 60 * GIB) != (9, True),
        reason="needs a GPU of compute capability 9.0 with more than 60 GiB, and a PyTorch that uses it",
    ),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def _own_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    yield
    torch.cuda.empty_cache()


def test_afterwards_the_process_sees_its_own_gpu() -> None:
    torch.cuda.init()
    places = (torch.cuda, torch.cuda.memory, torch._C, torch.cuda.cudart())
    torch.cuda.device_count()
    before = [dict(vars(place)) for place in places]
    native = str(torch.cuda.get_device_properties(0)), torch.cuda.get_device_capability()
    with posing(RTX_3090):
        assert torch.cuda.get_device_capability() == (8, 6)
        assert torch.cuda.get_device_name() == "NVIDIA GeForce RTX 3090"
        properties = torch.cuda.get_device_properties(0)
        assert (properties.total_memory, properties.multi_processor_count) == (RTX_3090.memory, 82)
        assert (properties.shared_memory_per_block_optin, properties.warp_size) == (101_376, 32)
        free, total = torch.cuda.mem_get_info()
        assert free <= RTX_3090.memory - GIB // 2
        assert total == RTX_3090.memory
    assert (str(torch.cuda.get_device_properties(0)), torch.cuda.get_device_capability()) == native
    for place, known in zip(places, before, strict=True):
        assert {name for name, value in vars(place).items() if value is not known.get(name)} == set()


def test_30_gb_do_not_fit_a_24_gb_card_and_fit_afterwards() -> None:
    size = 30 * GIB
    with posing(RTX_3090):
        with pytest.raises(torch.OutOfMemoryError, match=r"23\.50 GiB allowed"):
            torch.empty(size, dtype=torch.uint8, device="cuda")
        held = torch.empty(20 * GIB, dtype=torch.uint8, device="cuda")
        assert torch.cuda.mem_get_info()[0] <= 3.5 * GIB
        torch.cuda.set_per_process_memory_fraction(0.25)
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(GIB, dtype=torch.uint8, device="cuda")
        del held
        torch.cuda.empty_cache()
    assert torch.empty(size, dtype=torch.uint8, device="cuda").numel() == size


def test_torch_compile_builds_for_the_card_and_the_code_sees_the_device() -> None:
    def add(x: Any) -> Any:
        properties = torch.cuda.get_device_properties(0)
        return (x.sin() + properties.major).relu() + properties.minor

    x = torch.randn(4096, device="cuda")
    torch._dynamo.reset()
    with posing(RTX_3090):
        compiled = torch.compile(add, fullgraph=True)(x)
        torch.cuda.synchronize()
        torch.testing.assert_close(compiled, (x.sin() + 8).relu() + 6)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(add, fullgraph=True)(x), (x.sin() + 9).relu())


def _scaled_mm(compiled: bool = False) -> Any:
    a = torch.eye(128, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")

    def product(a: Any) -> Any:
        return torch._scaled_mm(a, a.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    return (torch.compile(product, fullgraph=True) if compiled else product)(a)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_scaled_mm_is_refused_as_below_8_9(compiled: bool) -> None:
    torch._dynamo.reset()
    words = r"torch\._scaled_mm is only supported on CUDA devices with compute capability >= 9\.0 or 8\.9"
    with posing(RTX_3090), pytest.raises(RuntimeError, match=words):
        _scaled_mm(compiled)
    torch._dynamo.reset()
    assert _scaled_mm(compiled).diagonal().sum() == 128


def test_attention_is_refused_only_where_no_backend_is_left() -> None:
    query = torch.randn(1, 2, 64, 64, device="cuda", dtype=torch.float16)
    attend = torch.nn.functional.scaled_dot_product_attention
    flash = torch.nn.attention.SDPBackend.FLASH_ATTENTION
    native = attend(query, query, query)
    with posing(T4):
        torch.testing.assert_close(attend(query, query, query), native)
        with torch.nn.attention.sdpa_kernel([flash]), pytest.raises(RuntimeError, match="No available kernel"):
            attend(query, query, query)
    with torch.nn.attention.sdpa_kernel([flash]):
        torch.testing.assert_close(attend(query, query, query), native, atol=1e-2, rtol=1e-2)


def test_training_with_large_heads_is_refused_on_8_6() -> None:
    query = torch.randn(1, 2, 64, 224, device="cuda", dtype=torch.float16, requires_grad=True)
    flash = torch.nn.attention.SDPBackend.FLASH_ATTENTION
    attend = torch.nn.functional.scaled_dot_product_attention
    with torch.nn.attention.sdpa_kernel([flash]):
        with posing(RTX_3090), pytest.raises(RuntimeError, match="No available kernel"):
            attend(query, query, query)
        attend(query, query, query).sum().backward()


def test_a_kernel_that_asks_sees_the_device_and_is_built_for_the_card() -> None:
    pytest.importorskip("triton")
    from triton.runtime import driver

    from tests.portability.emulation import kernels_that_ask

    out = torch.zeros(1, device="cuda", dtype=torch.int32)
    with posing(RTX_3090):
        kernels_that_ask.ask_while_posing[(1,)](out)
        assert out.item() == 80
        assert driver.active.get_current_target().arch == 86
        assert driver.active.utils.get_device_properties(0)["max_shared_mem"] == 101_376
    kernels_that_ask.ask_natively[(1,)](out)
    assert out.item() == 90
    assert driver.active.get_current_target().arch == 90
    assert driver.active.utils.get_device_properties(0)["max_shared_mem"] == 232_448


PROJECT = """
import pytest, torch

SOURCE = 'extern "C" __global__ void ones(float* out) { out[threadIdx.x] = 1.0f; }'

@pytest.mark.gpu
def test_30_gb(gpu):
    torch.empty(30 * 2**30, dtype=torch.uint8, device=gpu.torch_device)

@pytest.mark.gpu
@pytest.mark.gpu_xfail("<8.9", raises=RuntimeError, reason="no FP8")
def test_scaled_mm(gpu):
    a = torch.eye(128, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    torch._scaled_mm(a, a.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

@pytest.mark.gpu
def test_nvrtc_for_the_device(gpu):
    major, minor = torch.cuda.get_device_capability()
    kernel = torch.cuda._compile_kernel(SOURCE, "ones", compute_capability=f"{major}{minor}")
    out = torch.zeros(32, device="cuda")
    kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[out])
    assert out.sum() == 32

@pytest.mark.gpu
def test_nvrtc_for_hopper_alone(gpu):
    kernel = torch.cuda._compile_kernel(SOURCE, "ones", compute_capability="90a")
    out = torch.zeros(32, device="cuda")
    kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[out])
    assert out.sum() == 32

def _by_cuda_core(**options):
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    device = Device(0)
    device.set_current()
    assert tuple(device.compute_capability) == torch.cuda.get_device_capability()
    stream = device.create_stream()
    made = Program(SOURCE, "c++", ProgramOptions(**options)).compile("cubin").get_kernel("ones")
    out = torch.zeros(32, device="cuda")
    torch.cuda.synchronize()
    launch(stream, LaunchConfig(grid=1, block=32), made, out.data_ptr())
    stream.sync()
    assert out.sum() == 32

@pytest.mark.gpu(modules=["cuda.core"])
def test_cuda_core(gpu):
    _by_cuda_core(std="c++17")

@pytest.mark.gpu(modules=["cuda.core"])
def test_cuda_core_named(gpu):
    major, minor = torch.cuda.get_device_capability()
    _by_cuda_core(arch=f"sm_{major}{minor}")
"""
EXPECTED = {
    "test_30_gb": "failed",
    "test_scaled_mm": "xfailed",
    "test_nvrtc_for_the_device": "passed",
    "test_nvrtc_for_hopper_alone": "failed",
    "test_cuda_core": "passed",
    "test_cuda_core_named": "passed",
}


def test_a_whole_run(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(PROJECT)
    here = GPUS[0].profile.id
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "test_it.py"]
    options = ["--gpu-matrix", "--gpu-matrix-out=out", f"--gpu-devices={here},rtx-3090"]
    ran = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
    columns = {column.device: column for column in read_results(tmp_path / "out").columns}
    found = {
        device: {test.partition("::")[2]: cell.outcome.value for test, cell in column.cells.items()}
        for device, column in columns.items()
    }
    assert set(found[here].values()) == {"passed"}, ran.stdout
    assert found["rtx-3090"] == EXPECTED, ran.stdout
    assert ran.returncode == 1
    cells = {test.partition("::")[2]: cell for test, cell in columns["rtx-3090"].cells.items()}
    assert {cell.evidence.value for cell in cells.values()} == {"emulated"}
    assert "no kernel image" in cells["test_nvrtc_for_hopper_alone"].message
    assert "23.50 GiB allowed" in cells["test_30_gb"].message + cells["test_30_gb"].details
