"""Follows CUDA C++ that PyTorch compiles with NVRTC: ``torch.cuda._compile_kernel``."""

from __future__ import annotations

import ctypes
import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.recording.cuda_launches import extent, no_functions, what_is_allowed
from pytest_gpumatrix.portability.recording.nvrtc_options import program_options
from pytest_gpumatrix.portability.recording.running_gpu import RunningGpu
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram
from pytest_gpumatrix.portability.tape.values import encode

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.recording.recorder import Recorder

_MODULE = "torch.cuda._utils"
_LIBRARY = ("_get_gpu_rtc_library", "_get_nvrtc_library")  # torch 2.9 and later, and before
_ARCHITECTURE = "--gpu-architecture="


@dataclass(kw_only=True, slots=True)
class _Given:
    """What NVRTC was given."""

    source: str = ""
    options: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def arch(self) -> str:
        found = [option.removeprefix(_ARCHITECTURE) for option in self.options if option.startswith(_ARCHITECTURE)]
        return found[-1] if found else ""


class _Watching(threading.local):
    given: _Given | None = None  # of the compilation that this thread is in


class TorchCudaRecording:
    """Notes what NVRTC is really given while PyTorch compiles, and follows its kernels to their launches.

    For torch 2.8 to 2.13: machine code, and PTX in the older ones.
    """

    def __init__(self, recorder: Recorder, gpu: RunningGpu, patches: Patches) -> None:
        self._recorder = recorder
        self._gpu = gpu
        self._patches = patches
        self._watching = _Watching()
        self._programs: dict[bytes, CudaProgram] = {}  # by the code that came of it
        self._of_modules: WeakKeyDictionary[Any, CudaProgram] = WeakKeyDictionary()
        self._of_kernels: WeakKeyDictionary[Any, tuple[str, CudaProgram]] = WeakKeyDictionary()
        self._torch: Any = None
        self.modules: Mapping[str, Callable[[ModuleType], None]] = {_MODULE: self._follow}

    def _follow(self, module: ModuleType) -> None:
        if not hasattr(module, "_nvrtc_compile"):  # before torch 2.8
            return
        self._torch = module
        self._patches.replace(module, "_nvrtc_compile", self._recording_compile)
        library = next(name for name in _LIBRARY if hasattr(module, name))
        self._patches.replace(module, library, self._watched_library)
        self._patches.replace(module, "_cuda_load_module", self._recording_load)
        self._patches.replace(module._CudaModule, "__getattr__", self._recording_look_up)
        self._patches.replace(module._CudaKernel, "__call__", self._recording_launch)

    def _recording_compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)
        target = "cubin" if "nvrtcGetCUBIN" in original.__code__.co_names else "ptx"

        @functools.wraps(original)
        def compile_(*args: Any, **kwargs: Any) -> Any:
            given = self._watching.given = _Given()
            try:
                result = original(*args, **kwargs)
            except BaseException:
                if given.options:  # NVRTC was asked
                    self._note_program(given, target, signature, args, kwargs, code=None)
                raise
            finally:
                self._watching.given = None
            code = result[0] if isinstance(result, tuple) else result
            self._note_program(given, target, signature, args, kwargs, code=code)
            return result

        return compile_

    def _note_program(
        self,
        given: _Given,
        target: str,
        signature: inspect.Signature,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        code: bytes | None,
    ) -> None:
        with self._recorder.guarded("a program that PyTorch compiled with NVRTC"):
            arguments = signature.bind(*args, **kwargs).arguments
            options, unknown = program_options(given.options)
            follows = arguments.get("compute_capability") is None
            program = CudaProgram(
                name=str(arguments["kernel_name"]),
                source=given.source,
                code_type="c++",
                target_type=target,
                arch=given.arch,
                follows_device=follows or self._gpu.is_named_by(given.arch),
                options={name: encode(value, no_functions) for name, value in options.items()},
                name_expressions=tuple(given.names),
                obstacle=f"cannot be rebuilt: {unknown}" if unknown else None,
            )
            if code is not None:
                self._programs[code] = program  # it may be launched in a later test
            self._recorder.note(program, raised=code is None)

    def _watched_library(self, original: Callable[[], Any]) -> Callable[[], Any]:
        @functools.wraps(original)
        def library() -> Any:
            given = self._watching.given
            return original() if given is None else _WatchedLibrary(original(), given, self._gpu)

        return library

    def _recording_load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def load(code: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(code, *args, **kwargs)
            program = self._programs.get(code.encode() if isinstance(code, str) else bytes(code))
            if program is not None and isinstance(result, dict):
                self._of_kernels.update({kernel: (name, program) for name, kernel in result.items()})
            elif program is not None:
                self._of_modules[result] = program
            return result

        return load

    def _recording_look_up(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def look_up(module: Any, name: str) -> Any:
            kernel = original(module, name)
            program = self._of_modules.get(module)
            if program is not None:
                self._of_kernels[kernel] = (name, program)
            return kernel

        return look_up

    def _recording_launch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self._recorder
        whole = (1, 1, 1)

        @functools.wraps(original)
        def launch(
            kernel: Any,
            grid: Any = whole,
            block: Any = whole,
            args: Any = None,
            shared_mem: int = 0,
            *more: Any,
            **kwargs: Any,
        ) -> Any:
            if not recorder.active:
                return original(kernel, grid, block, args, shared_mem, *more, **kwargs)
            try:
                result = original(kernel, grid, block, args, shared_mem, *more, **kwargs)
            except BaseException:
                self._note_launch(kernel, grid, block, shared_mem, raised=True)
                raise
            key = (id(kernel), *grid, *block, shared_mem)
            if key not in recorder.seen_objects:
                self._note_launch(kernel, grid, block, shared_mem, raised=False)
                recorder.seen_objects[key] = kernel  # kept, so that its id stays its own
            return result

        return launch

    def _note_launch(self, kernel: Any, grid: Any, block: Any, shared_memory: int, *, raised: bool) -> None:
        with self._recorder.guarded("a launch of a kernel that PyTorch loaded"):
            if kernel not in self._of_kernels:
                raise LookupError("it was not compiled by torch.cuda._compile_kernel in this process")
            name, program = self._of_kernels[kernel]
            launch = CudaLaunch(
                kernel=name,
                block=extent(block),
                grid=extent(grid),
                dynamic_shared_memory=shared_memory,
                **what_is_allowed(functools.partial(self._attribute_of, kernel), shared_memory),
            )
            self._recorder.note(msgspec.structs.replace(program, launch=launch), launch.grid, raised=raised)

    def _attribute_of(self, kernel: Any, number: int) -> int | None:
        runtime = getattr(self._torch, "_get_gpu_runtime_library", None) or self._torch._get_cuda_library
        value = ctypes.c_int()
        failed = runtime().cuFuncGetAttribute(ctypes.byref(value), number, kernel.func)
        return None if failed else value.value


class _WatchedLibrary:
    """NVRTC, for one compilation: what it is given is noted, and the architecture is one that loads here."""

    def __init__(self, library: Any, given: _Given, gpu: RunningGpu) -> None:
        self._library, self._given, self._gpu = library, given, gpu

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def nvrtcCreateProgram(self, program: Any, source: bytes, *rest: Any) -> Any:  # noqa: N802 - NVRTC's names
        self._given.source = source.decode()
        return self._library.nvrtcCreateProgram(program, source, *rest)

    def nvrtcAddNameExpression(self, program: Any, name: bytes) -> Any:  # noqa: N802
        self._given.names.append(name.decode())
        return self._library.nvrtcAddNameExpression(program, name)

    def nvrtcCompileProgram(self, program: Any, count: int, options: Any) -> Any:  # noqa: N802
        self._given.options = [options[number].decode() for number in range(count)]
        here = [self._to_load(option).encode() for option in self._given.options]
        return self._library.nvrtcCompileProgram(program, count, (ctypes.c_char_p * count)(*here))

    def _to_load(self, option: str) -> str:
        if not option.startswith(_ARCHITECTURE):
            return option
        return _ARCHITECTURE + self._gpu.arch_to_load(option.removeprefix(_ARCHITECTURE))
