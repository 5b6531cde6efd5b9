"""CUDA C++ that PyTorch compiles and launches: PyTorch's own code, on stand-ins for NVRTC and the driver."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, Launch, Problem

torch = pytest.importorskip("torch")
utils = pytest.importorskip("torch.cuda._utils")
if not hasattr(utils, "_nvrtc_compile"):
    pytest.skip("torch has no _compile_kernel before 2.8", allow_module_level=True)

SOURCE = 'extern "C" __global__ void scale(float *x) { x[0] *= 2; }'
HOPPER, AMPERE = ComputeCapability(9, 0), ComputeCapability(8, 6)


class Nvrtc:
    """Keeps what it is given, and makes machine code of the architecture's name."""

    def __init__(self) -> None:
        self.architectures: list[str] = []
        self.fails = False

    def nvrtcCompileProgram(self, _: object, count: int, options: Any) -> int:  # noqa: N802 - NVRTC's names
        given = [options[number].decode() for number in range(count)]
        self.architectures += [option for option in given if "architecture" in option]
        return int(self.fails)

    def nvrtcGetCUBINSize(self, _: object, size: Any) -> int:  # noqa: N802
        size._obj.value = 8
        return 0

    def nvrtcGetCUBIN(self, _: object, code: Any) -> int:  # noqa: N802
        code.value = self.architectures[-1][-5:].encode()
        return 0

    def nvrtcGetLoweredName(self, _: object, name: Any, lowered: Any) -> int:  # noqa: N802
        lowered._obj.value = b"mangled_" + name
        return 0

    def __getattr__(self, _: str) -> Callable[..., int]:
        return lambda *_: 0


class Driver:
    opt_in = 49_152
    non_portable = 0
    status = 0

    def cuFuncGetAttribute(self, size: Any, attribute: int, _: object) -> int:  # noqa: N802 - the driver's names
        size._obj.value = {8: self.opt_in, 14: self.non_portable}[attribute]
        return 0

    def cuLaunchKernel(self, *_: object) -> int:  # noqa: N802
        return self.status

    def cuFuncSetAttribute(self, _: object, attribute: int, size: int) -> int:  # noqa: N802
        assert attribute == 8
        self.opt_in = size
        return 0

    def __getattr__(self, _: str) -> Callable[..., int]:
        return lambda *_: 0


class Stream(contextlib.nullcontext[None]):
    _as_parameter_ = ctypes.c_void_p()


@pytest.fixture
def nvrtc() -> Nvrtc:
    return Nvrtc()


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture(autouse=True)
def _gpu(monkeypatch: pytest.MonkeyPatch, nvrtc: Nvrtc, driver: Driver) -> None:
    properties = SimpleNamespace(major=9, minor=0, shared_memory_per_block_optin=232_448)
    monkeypatch.setattr(utils, "_get_gpu_rtc_library", lambda: nvrtc)
    monkeypatch.setattr(utils, "_get_gpu_runtime_library", lambda: driver)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: properties)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr("torch.utils.cpp_extension.include_paths", lambda _: ["/cuda/include"])


@pytest.fixture
def lines() -> list[Launch | Problem]:
    return []


@pytest.fixture
def recorder(lines: list[Launch | Problem]) -> Iterator[Recorder]:
    with recording(lines) as recorder:
        yield recorder


@contextlib.contextmanager
def recording(lines: list[Launch | Problem], posed: ComputeCapability | None = None) -> Iterator[Recorder]:
    def names() -> dict[str, object]:
        return {name: vars(utils)[name] for name in ("_nvrtc_compile", "_cuda_load_module", "_get_gpu_rtc_library")}

    before = names(), dict(vars(utils._CudaKernel))
    recorder = Recorder(lines.append, rootdir=Path.cwd(), capability=HOPPER, posed=posed)
    recorder.install()
    try:
        yield recorder
    finally:
        recorder.uninstall()
    assert before == (names(), dict(vars(utils._CudaKernel)))


def programs(lines: list[Launch | Problem]) -> list[CudaProgram]:
    assert [line for line in lines if not isinstance(line, Launch)] == []
    return [line.kernel for line in lines if isinstance(line, Launch) and isinstance(line.kernel, CudaProgram)]


def compile_kernel(*args: object, **kwargs: object) -> Any:
    return torch.cuda._compile_kernel(*args, **kwargs)


def test_a_program_is_what_nvrtc_was_given(recorder: Recorder, lines: list[Launch | Problem]) -> None:
    with recorder.during("test"):
        compile_kernel(SOURCE, "scale", cuda_include_dirs=["/mine"], nvcc_options=["-std=c++17", "-DVALUE=2"])
    [found] = programs(lines)
    assert (found.name, found.source, found.code_type, found.target_type) == ("scale", SOURCE, "c++", "cubin")
    assert (found.arch, found.follows_device, found.name_expressions) == ("sm_90", True, ("scale",))
    assert found.options["std"] == "c++17"
    assert found.options["include_path"] == {"list": ["/cuda/include", "/mine"]}
    macros = found.options["define_macro"]["list"]
    assert macros[0] == {"tuple": ["VALUE", "2"]}
    assert "__CUDA_NO_HALF_OPERATORS__" in macros  # PyTorch's own
    assert found.obstacle is None
    assert found.launch is None


@pytest.mark.parametrize(
    ("posed", "asked", "built", "on_tape", "follows"),
    [
        (None, None, "sm_90", "sm_90", True),
        (None, "90", "sm_90", "sm_90", True),
        (None, "86", "sm_86", "sm_86", False),
        (None, "90a", "sm_90a", "sm_90a", False),
        (AMPERE, "86", "sm_90", "sm_86", True),
        (AMPERE, "90", "sm_90", "sm_90", False),  # the posed GPU would refuse it
        (AMPERE, None, "sm_90", "sm_86", True),
    ],
)
def test_which_gpu_a_program_is_for_and_for_which_it_is_built(
    lines: list[Launch | Problem],
    nvrtc: Nvrtc,
    monkeypatch: pytest.MonkeyPatch,
    posed: ComputeCapability | None,
    asked: str | None,
    built: str,
    on_tape: str,
    follows: bool,
) -> None:
    if posed is not None:  # what PyTorch asks for the GPU is told
        told = SimpleNamespace(major=posed.major, minor=posed.minor)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: told)
    with recording(lines, posed) as recorder, recorder.during("test"):
        compile_kernel(SOURCE, "scale", compute_capability=asked)
    assert nvrtc.architectures == [f"--gpu-architecture={built}"]
    [found] = programs(lines)
    assert (found.arch, found.follows_device) == (on_tape, follows)


def test_a_launch_has_its_shape_and_is_recorded_once(
    recorder: Recorder, lines: list[Launch | Problem], driver: Driver
) -> None:
    kernel = compile_kernel(SOURCE, "scale")
    with recorder.during("test"):
        for _ in range(2):
            kernel(grid=(4, 2, 1), block=(32, 4, 1), args=[1])
        driver.non_portable = 1
        kernel((4, 2, 1), (64, 1, 1), [1])
    shape: dict[str, Any] = {"kernel": "mangled_scale", "grid": (4, 2, 1), "dynamic_shared_memory": 0}
    assert [found.launch for found in programs(lines)] == [
        CudaLaunch(**shape, block=(32, 4, 1), non_portable_clusters=False),
        CudaLaunch(**shape, block=(64, 1, 1), non_portable_clusters=True),
    ]


def test_what_the_kernel_was_opted_in_for_is_recorded(recorder: Recorder, lines: list[Launch | Problem]) -> None:
    kernel = compile_kernel(SOURCE, "scale")
    with recorder.during("test"):
        with pytest.raises(RuntimeError, match="not configured"):
            kernel(block=(32, 1, 1), shared_mem=100_000)
        kernel.set_shared_memory_config(131_072)
        kernel(block=(32, 1, 1), shared_mem=100_000)
    assert [
        (line.raised, line.kernel.launch.dynamic_shared_memory, line.kernel.launch.shared_memory_opt_in)
        for line in lines
        if isinstance(line, Launch) and isinstance(line.kernel, CudaProgram) and line.kernel.launch is not None
    ] == [(True, 100_000, 49_152), (False, 100_000, 131_072)]


def test_what_nvrtc_or_the_driver_refuses_is_recorded_as_such(
    recorder: Recorder, lines: list[Launch | Problem], nvrtc: Nvrtc, driver: Driver
) -> None:
    kernel = compile_kernel(SOURCE, "scale")
    driver.status = 1
    with recorder.during("test"):
        with pytest.raises(RuntimeError, match="CUDA error"):
            kernel(args=[])
        nvrtc.fails = True
        with pytest.raises(RuntimeError, match="Kernel compilation failed"):
            compile_kernel("broken", "scale")
    assert [(line.raised, found.source) for line, found in zip(lines, programs(lines), strict=True)] == [  # type: ignore[union-attr]
        (True, SOURCE),
        (True, "broken"),
    ]


def test_kernels_of_a_loaded_module_are_followed(recorder: Recorder, lines: list[Launch | Problem]) -> None:
    code, _ = utils._nvrtc_compile(SOURCE, "scale")
    module = utils._cuda_load_module(code)
    with recorder.during("test"):
        module.scale(block=(32, 1, 1))
    [found] = programs(lines)
    assert found.launch == CudaLaunch(
        kernel="scale",
        block=(32, 1, 1),
        grid=(1, 1, 1),
        dynamic_shared_memory=0,
        non_portable_clusters=False,
    )


def test_a_kernel_from_elsewhere_is_a_problem(recorder: Recorder, lines: list[Launch | Problem]) -> None:
    kernel = utils._cuda_load_module(b"a cubin from a file", ["scale"])["scale"]
    with recorder.during("test"):
        kernel(block=(32, 1, 1))
    [problem] = lines
    assert isinstance(problem, Problem)
    assert "it was not compiled by torch.cuda._compile_kernel in this process" in problem.message


def test_an_option_without_a_form_is_an_obstacle(recorder: Recorder, lines: list[Launch | Problem]) -> None:
    with recorder.during("test"):
        compile_kernel(SOURCE, "scale", nvcc_options=["--novel=1"])
    assert [found.obstacle for found in programs(lines)] == ["cannot be rebuilt: option -novel=1"]


def test_older_releases_load_ptx(monkeypatch: pytest.MonkeyPatch, lines: list[Launch | Problem]) -> None:
    """As torch 2.8 has it: the source is changed on its way, PTX is asked for, and only code comes back."""

    def compile_to_ptx(kernel_source: str, kernel_name: str, compute_capability: str | None = None) -> bytes:
        library = utils._get_gpu_rtc_library()
        options = (ctypes.c_char_p * 1)(f"--gpu-architecture=sm_{compute_capability or '90'}".encode())
        library.nvrtcCreateProgram(None, f'extern "C" {kernel_source}'.encode(), kernel_name.encode(), 0, None, None)
        library.nvrtcCompileProgram(None, 1, options)
        library.nvrtcGetPTX(None, None)
        return b"ptx"

    monkeypatch.setattr(utils, "_nvrtc_compile", compile_to_ptx)
    with recording(lines) as recorder, recorder.during("test"):
        kernel = utils._cuda_load_module(utils._nvrtc_compile("source", "scale", "80"), ["scale"])["scale"]
        kernel(block=(32, 1, 1))
    compiled, launched = programs(lines)
    assert (compiled.source, compiled.target_type, compiled.arch) == ('extern "C" source', "ptx", "sm_80")
    assert launched.launch is not None
