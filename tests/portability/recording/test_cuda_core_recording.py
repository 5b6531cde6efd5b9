"""Launches through cuda-core, on a stand-in for it: they need a GPU, and these tests must not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.recording import cuda_core_recording
from pytest_gpumatrix.portability.recording import recorder as recorder_module
from pytest_gpumatrix.portability.recording.recorder import Recorder
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, Launch, Problem

HANDLES = count(1)


@dataclass
class Code:
    handle: int = field(default_factory=lambda: next(HANDLES))
    code: bytes = b"machine code of name"


@dataclass
class Kernel:
    library: int
    opt_in: int | None = None
    non_portable: int | None = None
    handle: int = field(default_factory=lambda: next(HANDLES))

    @property
    def attributes(self) -> dict[int, int | None]:
        return {8: self.opt_in, 14: self.non_portable}  # by the driver's numbers


@dataclass
class Options:
    name: str | None = "default_program"
    arch: str | None = None
    std: str | None = None
    device: Any = None


class Program:
    def __init__(self, *_: object) -> None:
        pass

    def compile(self, *_: object) -> Code:
        return Code()


def cuda_cores_own(recording: type) -> type:
    """Under what stands in for it: that is put wherever the class was imported, in this module too."""
    [own] = recording.__bases__
    return own


def launch(stream: object, config: Any, kernel: Kernel, *args: object) -> tuple[object, ...]:
    return args


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("cuda.core")
    vars(module).update(Program=Program, launch=launch)
    monkeypatch.setitem(sys.modules, "cuda.core", module)
    monkeypatch.setattr(cuda_core_recording, "_library_of", lambda kernel: kernel.library)
    monkeypatch.setattr(cuda_core_recording, "_name_of", lambda _: "name")
    monkeypatch.setattr(cuda_core_recording, "_attribute_of", lambda kernel, number: kernel.attributes[number])
    return module


@pytest.fixture
def lines() -> list[Launch | Problem]:
    return []


@pytest.fixture
def recorder(core: ModuleType, lines: list[Launch | Problem]) -> Iterator[Recorder]:
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    yield recorder
    recorder.uninstall()
    assert (core.Program, core.launch) == (Program, launch)


def config(block: Any, shmem_size: int = 0, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(grid=(2,), block=block, shmem_size=shmem_size, **{"cluster": None, **more})


def programs(lines: list[Launch | Problem]) -> list[tuple[str, CudaProgram]]:
    assert all(isinstance(line, Launch) for line in lines)
    return [
        (line.test, line.kernel) for line in lines if isinstance(line, Launch) and isinstance(line.kernel, CudaProgram)
    ]


def test_a_launch_of_what_an_earlier_test_compiled_is_recorded_with_its_shape(
    core: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    other = core.Program("other", "c++", Options(arch="sm_80")).compile("cubin")
    with recorder.during("first"):
        code = core.Program("code", "c++", Options(arch="sm_90")).compile("cubin")
    with recorder.during("second"):
        for _ in range(2):
            kernel = Kernel(library=code.handle, opt_in=147_456)
            assert core.launch("stream", config((32, 4), 147_456), kernel, 1, 2) == (1, 2)
        core.launch("stream", config(64), Kernel(library=other.handle))
    assert [(test, found.source, found.launch) for test, found in programs(lines)] == [
        ("first", "code", None),
        (
            "second",
            "code",
            CudaLaunch(
                kernel="name",
                block=(32, 4, 1),
                grid=(2, 1, 1),
                dynamic_shared_memory=147_456,
                shared_memory_opt_in=147_456,
            ),
        ),
        ("second", "other", CudaLaunch(kernel="name", block=(64, 1, 1), grid=(2, 1, 1), dynamic_shared_memory=0)),
    ]


def test_a_launch_that_was_seen_asks_the_driver_for_nothing(
    core: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    code = core.Program("code", "c++", Options(arch="sm_90")).compile("cubin")
    asked = []

    class Asked(Kernel):
        @property
        def handle(self) -> int:
            asked.append(self)
            return 7

        @handle.setter
        def handle(self, _: int) -> None:
            pass

    kernel, shape = Asked(library=code.handle), config(32, is_cooperative=False)
    with recorder.during("test"):
        for _ in range(5):
            core.launch("stream", shape, kernel)
        assert len(asked) == 1
        held = len(recorder.seen_objects)
        for _ in range(5):  # a program that asks for its kernel anew each time is not held on to
            core.launch("stream", shape, Asked(library=code.handle))
        assert len(recorder.seen_objects) == held
        shape.block = 64  # a configuration may be changed in its place
        core.launch("stream", shape, kernel)
    assert [found.launch.block for _, found in programs(lines) if found.launch] == [(32, 1, 1), (64, 1, 1)]


def test_a_kernel_is_of_the_newest_program_that_was_loaded_where_it_is(
    core: ModuleType, recorder: Recorder, lines: list[Launch | Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older one may have been unloaded there."""
    monkeypatch.setattr(cuda_cores_own(Program), "compile", lambda *_: Code(handle=7))
    for source in ("older", "newer"):
        core.Program(source, "c++", Options(arch="sm_90")).compile("cubin")
    kernel, shape = Kernel(library=7), config(32, is_cooperative=False)
    with recorder.during("test"):
        seen = (shape.grid, shape.block, shape.cluster, shape.shmem_size, shape.is_cooperative)
        recorder.seen_objects[id(kernel), seen] = "another kernel, which was at its address"
        core.launch("stream", shape, kernel)
    assert [found.source for _, found in programs(lines)] == ["newer"]


def test_code_is_not_kept_for_ever(core: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def make(*args: Any) -> Any:
        made.append(cuda_core_recording.CudaRecording(*args))
        return made[-1]

    monkeypatch.setattr(recorder_module, "CudaRecording", make)
    recorder = Recorder(lambda _: None, rootdir=Path.cwd())
    recorder.install()
    kept = made[0]._programs
    following = core.Program  # as somebody may have taken it by its name
    for _ in range(3 + (kept.maxlen or 0)):
        following("code", "c++", Options(arch="sm_90")).compile("cubin")
    assert len(kept) == kept.maxlen
    recorder.uninstall()
    before = kept[-1]
    following("code", "c++", Options(arch="sm_90")).compile("cubin")
    assert kept[-1] is before  # nothing is noted any more


@pytest.mark.parametrize("non_portable", [None, 0, 1])
def test_clusters_and_cooperation_are_recorded(
    core: ModuleType, recorder: Recorder, lines: list[Launch | Problem], non_portable: int | None
) -> None:
    code = core.Program("code", "c++", Options(arch="sm_90")).compile("cubin")
    kernel = Kernel(library=code.handle, non_portable=non_portable)
    with recorder.during("test"):
        core.launch("stream", config(32, cluster=(2, 2), is_cooperative=True), kernel)
    [(_, found)] = programs(lines)
    [line] = lines
    assert isinstance(line, Launch)
    assert line.grid == (4, 2, 1)  # blocks: cuda-core's grid is one of clusters
    assert found.launch == CudaLaunch(
        kernel="name",
        block=(32, 1, 1),
        grid=(4, 2, 1),
        dynamic_shared_memory=0,
        cluster=(2, 2, 1),
        cooperative=True,
        non_portable_clusters={None: None, 0: False, 1: True}[non_portable],
    )


def test_a_launch_that_the_driver_refuses_is_recorded_as_such(
    monkeypatch: pytest.MonkeyPatch, core: ModuleType, lines: list[Launch | Problem]
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("CUDA_ERROR_INVALID_VALUE")

    monkeypatch.setattr(core, "launch", refuse)
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    code = core.Program("code", "c++", Options(arch="sm_90")).compile("cubin")
    with recorder.during("test"), pytest.raises(RuntimeError, match="INVALID"):
        core.launch("stream", config(32), Kernel(library=code.handle))
    recorder.uninstall()
    assert [line.raised for line in lines if isinstance(line, Launch)] == [True]


@pytest.mark.parametrize(
    ("arch", "follows"),
    [(None, True), ("sm_90", True), ("compute_90", True), ("sm_90a", False), ("sm_80", False), ("sm90", False)],
)
def test_what_names_the_running_gpu_follows_the_device(
    core: ModuleType, lines: list[Launch | Problem], arch: str | None, follows: bool
) -> None:
    recorder = Recorder(lines.append, rootdir=Path.cwd(), capability=ComputeCapability(9, 0))
    recorder.install()
    with recorder.during("test"):
        core.Program("code", "c++", Options(arch=arch)).compile("ptx")
    recorder.uninstall()
    [(_, found)] = programs(lines)
    assert found.follows_device is follows


def test_a_kernel_from_elsewhere_is_a_problem(
    core: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    with recorder.during("test"):
        core.launch("stream", config(64), Kernel(library=0))
    [problem] = lines
    assert isinstance(problem, Problem)
    assert problem.test == "test"
    assert "was not compiled by cuda.core.Program in this process" in problem.message


def test_a_launch_that_forgot_to_opt_in_says_so_and_a_later_one_that_did_not_too(
    core: ModuleType, lines: list[Launch | Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch_as_driver(_: object, config: Any, kernel: Kernel) -> None:
        if config.shmem_size > (kernel.opt_in or 0):
            raise RuntimeError("CUDA_ERROR_INVALID_VALUE")

    monkeypatch.setattr(core, "launch", launch_as_driver)
    recorder = Recorder(lines.append, rootdir=Path.cwd())
    recorder.install()
    code = core.Program("code", "c++", Options(arch="sm_90")).compile("cubin")
    kernel = Kernel(library=code.handle, opt_in=49_152)
    with recorder.during("test"):
        with pytest.raises(RuntimeError, match="INVALID"):
            core.launch("stream", config(32, 49_153), kernel)
        kernel.opt_in = 65_536
        core.launch("stream", config(32, 49_153), kernel)
    recorder.uninstall()
    assert [
        (found.launch.shared_memory_opt_in, line.raised)
        for (_, found), line in zip(programs(lines), lines, strict=True)
        if found.launch is not None and isinstance(line, Launch)
    ] == [(49_152, True), (65_536, False)]


def test_code_that_loads_on_no_gpu_here_is_passed_over(
    core: ModuleType, recorder: Recorder, lines: list[Launch | Problem]
) -> None:
    """Asking such code for its handle is an error; it has a kernel of the same name, and was compiled later."""

    class Foreign:
        code = b"machine code of name"

        @property
        def handle(self) -> int:
            raise RuntimeError("CUDA_ERROR_NO_BINARY_FOR_GPU")

    code = core.Program("here", "c++", Options(arch="sm_90")).compile("cubin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_cores_own(Program), "compile", lambda *_: Foreign())
        core.Program("elsewhere", "c++", Options(arch="sm_100")).compile("cubin")
    with recorder.during("test"):
        core.launch("stream", config(32), Kernel(library=code.handle))
    assert [found.source for _, found in programs(lines)] == ["here"]


def test_options_that_cuda_core_fills_in_follow_the_device(
    core: ModuleType, lines: list[Launch | Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an arch they have that of the card itself, also where it poses as another."""

    @dataclass
    class Filled(Options):
        def __post_init__(self) -> None:
            self.arch = self.arch or "sm_90"

    monkeypatch.setattr(core, "ProgramOptions", Filled, raising=False)
    recorder = Recorder(
        lines.append, rootdir=Path.cwd(), capability=ComputeCapability(9, 0), posed=ComputeCapability(8, 6)
    )
    recorder.install()
    with recorder.during("test"):
        for options in (Filled(), Filled(arch="sm_90")):
            core.Program(f"{options.arch} {len(lines)}", "c++", options).compile("cubin")
    recorder.uninstall()
    assert [found.follows_device for _, found in programs(lines)] == [True, False]
    assert vars(Filled())["arch"] == "sm_90"
    assert list(vars(Filled())) == ["name", "arch", "std", "device"]


def test_nothing_is_recorded_between_tests(core: ModuleType, recorder: Recorder, lines: list[Launch | Problem]) -> None:
    code = core.Program("code", "c++", Options(arch="sm_90")).compile("cubin")
    core.launch("stream", config(64), Kernel(library=code.handle))
    assert lines == []


@pytest.mark.parametrize(
    ("code", "code_type", "options", "obstacle"),
    [
        ("code", "c++", Options(std="c++17"), None),
        ("code", "c++", None, None),
        (b"bitcode", "nvvm", Options(), "cannot be rebuilt: nvvm code is not compiled for other devices"),
        ("code", "c++", Options(device=object()), "cannot be rebuilt: option device: a builtins.object has no form"),
        ("code", "c++", {"arch": "sm_90"}, "cannot be rebuilt: options of type dict"),
    ],
)
def test_what_cannot_be_rebuilt_says_why(
    core: ModuleType,
    recorder: Recorder,
    lines: list[Launch | Problem],
    code: Any,
    code_type: str,
    options: Any,
    obstacle: str | None,
) -> None:
    with recorder.during("test"):
        core.Program(code, code_type, options).compile("cubin")
    [(_, found)] = programs(lines)
    assert (found.obstacle or "").startswith(obstacle or "")
    assert (found.obstacle is None) == (obstacle is None)


@pytest.mark.parametrize(
    ("source", "options", "name"),
    [
        ("__global__ void __launch_bounds__(256) scale(float *x) {}", Options(), "scale"),
        ('extern "C" __global__ void first(int a) {} __global__ void second() {}', None, "first"),
        ("__device__ int helper(int x);", Options(), "default_program"),
        ("__global__ void scale(float *x) {}", Options(name="mine"), "mine"),
    ],
)
def test_a_program_without_a_name_has_its_first_kernels(
    core: ModuleType,
    recorder: Recorder,
    lines: list[Launch | Problem],
    source: str,
    options: Options | None,
    name: str,
) -> None:
    with recorder.during("test"):
        core.Program(source, "c++", options).compile("cubin")
    [(_, found)] = programs(lines)
    assert found.name == name


@pytest.mark.parametrize(
    ("arch", "built", "follows"),
    [("sm_86", "sm_90", True), ("sm_80", "sm_90", False), ("sm_90", "sm_90", False), (None, None, True)],
)
def test_a_program_for_the_posed_gpu_is_built_for_the_one_here(
    core: ModuleType,
    lines: list[Launch | Problem],
    monkeypatch: pytest.MonkeyPatch,
    arch: str | None,
    built: str | None,
    follows: bool,
) -> None:
    really: list[Any] = []

    class Building(Program):
        def __init__(self, *arguments: object) -> None:
            really.append(arguments[-1])

    monkeypatch.setattr(core, "Program", Building)
    recorder = Recorder(
        lines.append, rootdir=Path.cwd(), capability=ComputeCapability(9, 0), posed=ComputeCapability(8, 6)
    )
    recorder.install()
    asked = Options(arch=arch, std="c++17")
    with recorder.during("test"):
        core.Program("code", "c++", asked).compile("cubin")
    recorder.uninstall()
    assert really == [Options(arch=built, std="c++17")]
    assert asked.arch == arch
    [(_, found)] = programs(lines)
    assert (found.arch, found.follows_device, found.options) == (arch or "", follows, {"std": "c++17"})
