"""What runs on a real GPU is on the tape: with nothing in the place of anything. Skipped where there is no CUDA GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, Launch, Problem, TritonKernel

SOURCE = 'extern "C" __global__ void scale(float *x) { extern __shared__ float s[]; x[threadIdx.x] *= 2; }'
# In a process of its own, for Inductor's settings are read when it is imported. Prints the lines of the tape.
INDUCTOR = """
import sys
from pathlib import Path
import msgspec
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording.recorder import Recorder
lines = []
recorder = Recorder(lines.append, rootdir=Path.cwd())
recorder.install()
import torch
x = torch.randn(512, 512, device="cuda", dtype=torch.float16)
pointwise = torch.compile(lambda x: torch.relu(x.sin() + 1))
reduction = torch.compile(lambda x: (x * 2).sum(dim=1))
with recorder.during("pointwise"):
    pointwise(x)
with recorder.during("pointwise_again"):
    pointwise(x)
with recorder.during("reduction"):
    reduction(x)
if "max-autotune" in sys.argv:
    torch._inductor.config.max_autotune_gemm_backends = "TRITON"
    product = torch.compile(lambda a, b: torch.relu(a @ b), mode="max-autotune-no-cudagraphs")
    with recorder.during("product"):
        product(x, x)
if "reduce-overhead" in sys.argv:
    graphed = torch.compile(lambda x: torch.relu(x.cos() + 1), mode="reduce-overhead")
    with recorder.during("captures"):
        for _ in range(3):
            graphed(x)
    with recorder.during("replays"):
        graphed(x)
torch.cuda.synchronize()
recorder.uninstall()
for line in lines:
    print(msgspec.json.encode(line).decode())
"""


@pytest.fixture(autouse=True)
def _cuda() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU here")


@pytest.fixture
def lines() -> list[Launch | Problem]:
    return []


@pytest.fixture
def recorder(lines: list[Launch | Problem]) -> Iterator[Recorder]:
    import torch

    capability = ComputeCapability(*torch.cuda.get_device_capability())
    recorder = Recorder(lines.append, rootdir=Path.cwd(), capability=capability)
    recorder.install()
    yield recorder
    recorder.uninstall()


def inductor(folder: Path, *modes: str) -> dict[str, list[dict[str, Any]]]:
    """The launches of each test; a problem of any fails. A folder that was used before serves from its caches."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton")}
    found = subprocess.run(
        [sys.executable, "-c", INDUCTOR, *modes],
        env={**environment, **caches},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    lines = [json.loads(line) for line in found.stdout.splitlines() if line.startswith('{"record"')]
    assert [line for line in lines if line["record"] != "launch"] == []
    tests: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        tests.setdefault(line["test"], []).append(line["kernel"])
    return tests


def test_kernels_of_torch_compile_are_recorded_also_from_its_caches(tmp_path: Path) -> None:
    cold = inductor(tmp_path)
    assert [kernel["kind"] for kernel in cold["pointwise"]] == ["triton"] * len(cold["pointwise"])
    assert cold["pointwise_again"] == cold["pointwise"]
    for test in ("pointwise", "reduction"):
        [text] = {kernel["function"]["text"] for kernel in cold[test]}
        assert "@triton.jit" in text
    warm = inductor(tmp_path)  # a new process, which compiles nothing
    for test, kernels in warm.items():
        assert {kernel["function"]["qualname"] for kernel in kernels} == {
            kernel["function"]["qualname"] for kernel in cold[test]
        }


def test_only_what_max_autotune_chose_is_a_launch(tmp_path: Path) -> None:
    found = inductor(tmp_path, "max-autotune")
    names = [kernel["function"]["qualname"] for kernel in found["product"]]
    assert len([name for name in names if name.startswith("triton_tem_fused")]) == 1, names
    assert "triton_mm" not in names  # the candidates, which were timed and launched by nobody


def test_replays_of_torch_compiles_cuda_graphs_are_launches(tmp_path: Path) -> None:
    found = inductor(tmp_path, "reduce-overhead")
    assert found["replays"] == found["captures"]
    assert found["replays"]


def test_a_replay_in_a_later_test_launches_what_was_captured(recorder: Recorder, lines: list[Launch | Problem]) -> None:
    import torch

    kernel = torch.cuda._compile_kernel(SOURCE, "scale")
    x = torch.ones(32, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with recorder.during("captures"), torch.cuda.graph(graph):
        kernel(block=(32, 1, 1), args=[x])
    with recorder.during("replays"):
        graph.replay()
    torch.cuda.synchronize()
    assert x.tolist() == [2.0] * 32
    assert [line.test for line in lines if isinstance(line, Launch)] == ["captures", "replays"]


@pytest.mark.parametrize("opted_in", [False, True])
def test_compile_kernel_says_what_it_was_opted_in_for(
    recorder: Recorder, lines: list[Launch | Problem], opted_in: bool
) -> None:
    import torch

    x = torch.ones(32, device="cuda")
    with recorder.during("test"):
        kernel = torch.cuda._compile_kernel(SOURCE, "scale", nvcc_options=["-std=c++17"])
        if opted_in:
            kernel.set_shared_memory_config(65_536)
        kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[x], shared_mem=65_536 if opted_in else 1024)
    torch.cuda.synchronize()
    compiled, launched = programs(lines)
    assert (compiled.follows_device, compiled.obstacle) == (True, None)
    assert compiled.target_type in ("cubin", "ptx")
    assert launched.launch == CudaLaunch(
        kernel="scale",
        block=(32, 1, 1),
        grid=(1, 1, 1),
        dynamic_shared_memory=65_536 if opted_in else 1024,
        shared_memory_opt_in=65_536 if opted_in else 49_152,
        non_portable_clusters=False,
    )


def test_cuda_core_opts_in_to_nothing_by_itself(recorder: Recorder, lines: list[Launch | Problem]) -> None:
    core = pytest.importorskip("cuda.core")
    from cuda.bindings import driver

    launch, kernel = cuda_core_launch(core)
    with recorder.during("test"):
        launch(49_152)
        with pytest.raises(Exception, match="CUDA_ERROR_INVALID_VALUE"):
            launch(65_536)
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        status, device = driver.cuCtxGetDevice()
        (status,) = driver.cuKernelSetAttribute(attribute, 65_536, kernel.handle, device)
        assert status == driver.CUresult.CUDA_SUCCESS
        launch(65_536)
    assert [
        (line.raised, line.kernel.launch.dynamic_shared_memory, line.kernel.launch.shared_memory_opt_in)
        for line in lines
        if isinstance(line, Launch) and isinstance(line.kernel, CudaProgram) and line.kernel.launch is not None
    ] == [(False, 49_152, 49_152), (True, 65_536, 49_152), (False, 65_536, 65_536)]


def cuda_core_launch(core: Any) -> tuple[Callable[[int], None], Any]:
    import torch

    device = core.Device()
    device.set_current()
    program = core.Program(SOURCE, "c++", core.ProgramOptions(arch=f"sm_{device.arch}"))
    kernel = program.compile("cubin").get_kernel("scale")
    x = torch.ones(32, device="cuda")
    stream = device.create_stream()

    def launch(shared_memory: int) -> None:
        config = core.LaunchConfig(grid=1, block=32, shmem_size=shared_memory)
        core.launch(stream, config, kernel, x.data_ptr())
        stream.sync()

    return launch, kernel


def test_cupy_kernels_are_recorded(recorder: Recorder, lines: list[Launch | Problem]) -> None:
    cupy = pytest.importorskip("cupy")
    x = cupy.ones(32, dtype=cupy.float32)
    module = cupy.RawModule(
        code="template<typename T> __global__ void twice(T *x) { x[threadIdx.x] *= 2; }",
        name_expressions=["twice<float>"],
    )
    with recorder.during("test"):
        kernel = cupy.RawKernel(SOURCE, "scale")
        kernel.max_dynamic_shared_size_bytes = 65_536
        kernel((1,), (32,), (x,), shared_mem=65_536)
        module.get_function("twice<float>")((1,), (32,), (x,))
    assert x.get().tolist() == [4.0] * 32
    raw, templated = programs(lines)
    assert raw.launch is not None
    assert (raw.launch.kernel, raw.launch.shared_memory_opt_in) == ("scale", 65_536)
    assert templated.launch is not None
    assert templated.launch.kernel == "_Z5twiceIfEvPT_"


def test_a_triton_kernel_is_recorded_once_per_test_from_its_cache_too(
    recorder: Recorder, lines: list[Launch | Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    if os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("Triton is interpreted here")
    import torch

    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "sample")
    import kernels  # type: ignore[import-not-found]

    x, out = torch.ones(64, device="cuda"), torch.empty(64, device="cuda")
    for test in ("first", "second"):
        with recorder.during(test):
            for _ in range(3):
                kernels.scale[(1,)](x, out, 64, 2, BLOCK=64)
    torch.cuda.synchronize()
    assert out.tolist() == [6.0] * 64
    [first, second] = [line for line in lines if isinstance(line, Launch)]
    assert (first.test, second.test) == ("first", "second")
    assert isinstance(first.kernel, TritonKernel)
    assert first.kernel == second.kernel


def programs(lines: list[Launch | Problem]) -> list[CudaProgram]:
    assert [line for line in lines if not isinstance(line, Launch)] == []
    return [line.kernel for line in lines if isinstance(line, Launch) and isinstance(line.kernel, CudaProgram)]
