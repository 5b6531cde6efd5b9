"""Kernels that are launched through CuPy: on a stand-in shaped like it, for its own needs a GPU to launch anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, Launch, Problem

SOURCE = 'extern "C" __global__ void scale(float *x) { x[0] *= 2; }'


class RawKernel:
    def __init__(
        self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc", *_: object, **more: bool
    ) -> None:
        self.code, self.name, self.options, self.backend = code, name, options, backend
        self.enable_cooperative_groups = more.get("enable_cooperative_groups", False)
        self.file_path: str | None = None
        self.max_dynamic_shared_size_bytes = 49_152
        self.error: Exception | None = None

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> tuple[Any, ...]:
        if self.error is not None:
            raise self.error
        return (grid, block, args, shared_mem)


class RawModule:
    kernels = RawKernel  # as compiled code has it, whatever stands in for the name

    def __init__(self, code: str = "", *, options: tuple[str, ...] = (), **more: Any) -> None:
        self._made_of = (code, options)
        self.name_expressions = more.get("name_expressions")
        self.path = more.get("path")
        self.module = SimpleNamespace(mapping={"scale<float>": "mangled"})

    def get_function(self, name: str) -> RawKernel:
        code, options = self._made_of
        kernel = self.kernels(code, name, options)
        kernel.file_path = self.path
        return kernel


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("cupy")
    vars(module).update(RawKernel=RawKernel, RawModule=RawModule)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def lines() -> list[Launch | Problem]:
    return []


@pytest.fixture
def recorder(cupy: ModuleType, lines: list[Launch | Problem]) -> Iterator[Recorder]:
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    yield recorder
    recorder.uninstall()
    assert (cupy.RawKernel, cupy.RawModule) == (RawKernel, RawModule)


def programs(lines: list[Launch | Problem]) -> list[CudaProgram]:
    assert [line for line in lines if not isinstance(line, Launch)] == []
    return [line.kernel for line in lines if isinstance(line, Launch) and isinstance(line.kernel, CudaProgram)]


def test_a_raw_kernel_is_recorded_with_its_options_and_shape(
    cupy: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    kernel = cupy.RawKernel(SOURCE, "scale", ("-DVALUE=2", "--std=c++20"), enable_cooperative_groups=True)
    assert isinstance(kernel, RawKernel)
    kernel.max_dynamic_shared_size_bytes = 65_536
    with recorder.during("test"):
        for _ in range(2):
            assert kernel((2,), (32, 4), (1,), shared_mem=50_000) == ((2,), (32, 4), (1,), 50_000)
    [found] = programs(lines)
    assert found == CudaProgram(
        name="scale",
        source=SOURCE,
        code_type="c++",
        target_type="cubin",
        arch="",
        follows_device=True,
        options={
            "ftz": True,
            "device_as_default_execution_space": True,
            "std": "c++20",
            "define_macro": {"list": [{"tuple": ["VALUE", "2"]}]},
        },
        launch=CudaLaunch(
            kernel="scale",
            block=(32, 4, 1),
            grid=(2, 1, 1),
            dynamic_shared_memory=50_000,
            cooperative=True,
            shared_memory_opt_in=65_536,
        ),
    )


def test_a_kernel_of_a_raw_module_has_the_name_of_its_code(
    cupy: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    expressions = ["scale<float>", "scale<int>"]
    kernel = cupy.RawModule(code="template", name_expressions=expressions).get_function("scale<float>")
    kernel.max_dynamic_shared_size_bytes = 50_000  # set through what stands in for it
    assert kernel.code == "template"
    with recorder.during("test"):
        kernel((1,), (32,), (), shared_mem=49_200)
    [found] = programs(lines)
    assert (found.name, found.name_expressions) == ("scale<float>", tuple(expressions))
    assert found.launch is not None
    assert (found.launch.kernel, found.launch.shared_memory_opt_in) == ("mangled", 50_000)


def test_a_launch_that_is_refused_is_recorded_as_such(
    cupy: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    kernel = cupy.RawKernel(SOURCE, "scale")
    kernel.error = RuntimeError("CUDA_ERROR_INVALID_VALUE")
    with recorder.during("test"), pytest.raises(RuntimeError, match="INVALID"):
        kernel((1,), (32,), (), shared_mem=50_000)
    assert [line.raised for line in lines if isinstance(line, Launch)] == [True]


@pytest.mark.parametrize(
    ("make", "obstacle"),
    [
        (lambda cupy: cupy.RawKernel(SOURCE, "scale", backend="nvcc"), "CuPy compiles it with nvcc"),
        (
            lambda cupy: cupy.RawKernel(SOURCE, "scale", translate_cucomplex=True),
            "CuPy changes the code, for translate_cucomplex is on",
        ),
        (
            lambda cupy: cupy.RawKernel(SOURCE, "scale", (), "nvrtc", True),
            "CuPy changes the code, for translate_cucomplex is on",
        ),
        (lambda cupy: cupy.RawKernel(SOURCE, "scale", jitify=True), "CuPy changes the code, for jitify is on"),
        (lambda cupy: cupy.RawKernel(SOURCE, "scale", ("--novel",)), "option -novel"),
        (lambda cupy: cupy.RawModule(path="k.cubin").get_function("scale"), "CuPy loaded it from k.cubin"),
    ],
)
def test_what_cannot_be_rebuilt_says_why(
    cupy: ModuleType, recorder: Recorder, lines: list[Launch | Problem], make: Any, obstacle: str
) -> None:
    kernel = make(cupy)
    with recorder.during("test"):
        kernel((1,), (32,), ())
    assert [found.obstacle for found in programs(lines)] == [f"cannot be rebuilt: {obstacle}"]


def test_nothing_is_recorded_between_tests(cupy: ModuleType, recorder: Recorder, lines: list[Launch | Problem]) -> None:
    assert not recorder.active
    cupy.RawKernel(SOURCE, "scale")((1,), (32,), ())
    assert lines == []


def test_cupy_is_as_the_stand_in_has_it(lines: list[Launch | Problem]) -> None:
    """Without a GPU a launch fails, and what was to be launched is recorded."""
    cupy = pytest.importorskip("cupy")
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    try:
        kernel = cupy.RawKernel(SOURCE, "scale", ("-DVALUE=2",))
        with recorder.during("test"):
            try:
                kernel((1,), (32,), (cupy.zeros(4, dtype="f4"),) if cupy.cuda.is_available() else ())
            except cupy.cuda.runtime.CUDARuntimeError:
                assert not cupy.cuda.is_available()
    finally:
        recorder.uninstall()
    [found] = programs(lines)
    assert (found.source, found.launch) == (
        SOURCE,
        CudaLaunch(kernel="scale", block=(32, 1, 1), grid=(1, 1, 1), dynamic_shared_memory=0),
    )
    assert type(cupy.RawKernel(SOURCE, "scale")) is cupy._core.raw.RawKernel  # as before
