"""Follows what is compiled and launched through cuda-core."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram, FunctionReference
from pytest_gpumatrix.portability.tape.values import CannotEncodeError, encode

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.recording.recorder import Recorder

_MODULES = ("cuda.core", "cuda.core.experimental")
_DEFAULT_NAME = "default_program"  # cuda-core's own


class CudaRecording:
    """Puts a recording subclass in the place of ``cuda.core.Program``, and a wrapper in that of ``launch``.

    The class is compiled code whose methods cannot be replaced. A module that took it before us is given ours too;
    one that is kept anywhere but among a module's names (an attribute, a default argument) is not seen.
    """

    def __init__(self, recorder: Recorder, capability: ComputeCapability | None, patches: Patches) -> None:
        self._recorder = recorder
        self._capability = capability
        self._patches = patches
        self._ours: dict[Any, Any] = {}  # cuda-core's class or function -> what stands in its place
        self._programs: list[tuple[Any, CudaProgram]] = []  # the code that was compiled, and from what
        self.modules: Mapping[str, Callable[[ModuleType], None]] = dict.fromkeys(_MODULES, self._follow)

    def _follow(self, module: ModuleType) -> None:
        self._stand_in(module, "Program", self._recording_program)
        self._stand_in(module, "launch", self._recording_launch)

    def _stand_in(self, module: ModuleType, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(module, name)
        if original in self._ours.values():
            return
        ours = self._ours.setdefault(original, make(original))
        holders = [holder for name, holder in list(sys.modules.items()) if not name.startswith("cuda.")]
        for holder in [module, *holders]:
            names = vars(holder).items() if isinstance(holder, ModuleType) else ()
            for alias in [alias for alias, value in names if value is original]:
                self._patches.replace(holder, alias, lambda _: ours)

    def _recording_program(self, original: type[Any]) -> type[Any]:
        recording = self

        class Program(original):  # type: ignore[misc] # a base that is found when it runs
            def __init__(self, code: Any, code_type: Any, options: Any = None) -> None:
                super().__init__(code, code_type, options)
                self._made_of = (code, str(code_type), options)

            def compile(self, target_type: Any, name_expressions: Any = (), *args: Any, **kwargs: Any) -> Any:
                try:
                    compiled = super().compile(target_type, name_expressions, *args, **kwargs)
                except BaseException:
                    recording._note_program(self._made_of, target_type, name_expressions, compiled=None)
                    raise
                recording._note_program(self._made_of, target_type, name_expressions, compiled=compiled)
                return compiled

        Program.__module__, Program.__qualname__ = original.__module__, original.__qualname__
        Program.__doc__ = original.__doc__
        return Program

    def _note_program(
        self, made_of: tuple[Any, str, Any], target_type: Any, name_expressions: Any, *, compiled: Any
    ) -> None:
        with self._recorder.guarded("a cuda-core program"):
            program = self._described(*made_of, str(target_type), tuple(name_expressions))
            if compiled is not None:
                self._programs.append((compiled, program))  # it may be launched in a later test
            self._recorder.note(program, raised=compiled is None)

    def _described(
        self, code: Any, code_type: str, options: Any, target_type: str, name_expressions: tuple[str, ...]
    ) -> CudaProgram:
        arch = getattr(options, "arch", None)  # set by cuda-core, where there are options, to the current device's
        set_options, obstacle = _set_options(options)
        if code_type.lower() not in ("c++", "ptx") or not isinstance(code, str):
            obstacle = f"{code_type} code is not compiled for other devices"
        return CudaProgram(
            name=_name(code, getattr(options, "name", None)),
            source=code if isinstance(code, str) else "",
            code_type=code_type.lower(),
            target_type=target_type.lower(),
            arch=arch or "",
            follows_device=arch is None or self._is_of_this_gpu(arch),
            options=set_options,
            name_expressions=name_expressions,
            obstacle=f"cannot be rebuilt: {obstacle}" if obstacle else None,
        )

    def _is_of_this_gpu(self, arch: str) -> bool:
        """Whether it is how a program would write this GPU's architecture: "sm_90" or "compute_90"."""
        try:
            binary = Binary.parse(arch, ptx=False)
        except ValueError:
            return False
        return binary.capability == self._capability and not binary.suffix

    def _recording_launch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self._recorder

        @functools.wraps(original)
        def launch(stream: Any, config: Any, kernel: Any, *args: Any) -> Any:
            if recorder.test is None:
                return original(stream, config, kernel, *args)
            raised = True
            try:
                result = original(stream, config, kernel, *args)
                raised = False
            finally:
                with recorder.guarded("a launch through cuda-core"):
                    self._note_launch(config, kernel, raised=raised)
            return result

        return launch

    def _note_launch(self, config: Any, kernel: Any, *, raised: bool) -> None:
        cluster = _product(config.cluster)
        launch = CudaLaunch(
            kernel=_name_of(kernel),
            threads=_product(config.block),
            dynamic_shared_memory=int(config.shmem_size or 0),
            blocks=_product(config.grid) * cluster,  # cuda-core's grid is one of clusters where there are any
            blocks_per_cluster=cluster,
            cooperative=bool(getattr(config, "is_cooperative", False)),
        )
        key = (int(kernel.handle), launch, raised)
        if key in self._recorder.seen_objects:
            return
        library = _library_of(kernel)
        program = next((made_of for code, made_of in self._programs if int(code.handle) == library), None)
        if program is None:
            raise LookupError("its kernel was not compiled by cuda.core.Program in this process")
        self._recorder.note(msgspec.structs.replace(program, launch=launch), config.grid, raised=raised)
        self._recorder.seen_objects[key] = kernel


def _name(code: Any, given: str | None) -> str:
    """The program's name, or that of its first kernel where it was given none."""
    if given and given != _DEFAULT_NAME:
        return given
    _, found, rest = str(code).partition("__global__")
    match = re.search(r"(\w+)\s*\(", re.sub(r"__\w+__\s*\([^)]*\)", "", rest[:1000]))  # without __launch_bounds__(...)
    return match[1] if found and match else _DEFAULT_NAME


def _product(sizes: Any) -> int:
    """Of the sizes in each dimension; there may be one alone, or none."""
    return math.prod(sizes) if isinstance(sizes, tuple) else int(sizes or 1)


def _name_of(kernel: Any) -> str | None:
    from cuda.bindings import driver

    if not hasattr(driver, "cuKernelGetName"):  # before CUDA 12.3
        return None
    status, name = driver.cuKernelGetName(kernel.handle)
    return name.decode() if status == driver.CUresult.CUDA_SUCCESS else None


def _library_of(kernel: Any) -> int:
    from cuda.bindings import driver

    status, library = driver.cuKernelGetLibrary(kernel.handle)
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"cuKernelGetLibrary: {status!r}")
    return int(library)


def _set_options(options: Any) -> tuple[dict[str, Any], str | None]:
    """The options that differ from their defaults, as JSON, and why one could not be encoded."""
    if options is None:
        return {}, None
    if not dataclasses.is_dataclass(options):
        return {}, f"options of type {type(options).__qualname__}"
    found = {}
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name in ("arch", "name") or value is None or value == field.default:
            continue
        try:
            found[field.name] = encode(value, _no_functions)
        except CannotEncodeError as error:
            return found, f"option {field.name}: {error}"
    return found, None


def _no_functions(value: Any) -> FunctionReference:
    raise CannotEncodeError(f"a {type(value).__qualname__} is no option")
