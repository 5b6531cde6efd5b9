"""Follows what is compiled and launched through cuda-core."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
from collections import deque
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.patching.stand_ins import StandIns, named_like
from pytest_gpumatrix.portability.recording.cuda_launches import extent, first_kernel, no_functions, what_is_allowed
from pytest_gpumatrix.portability.recording.running_gpu import RunningGpu
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram
from pytest_gpumatrix.portability.tape.values import CannotEncodeError, encode

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.recording.recorder import Recorder

_MODULES = ("cuda.core", "cuda.core.experimental")
_MOST_PROGRAMS = 512  # that are kept, with their code, which also stays loaded
_DEFAULT_NAME = "default_program"  # cuda-core's own
_SHAPE = ("grid", "block", "cluster", "shmem_size", "is_cooperative")  # of a LaunchConfig
_shape_of = operator.attrgetter(*_SHAPE)
_FILLED_IN = "_gpumatrix_arch"  # the arch that cuda-core wrote into options that had none


class CudaRecording:
    """Puts a recording subclass in the place of ``cuda.core.Program``, and a wrapper in that of ``launch``.

    Launches of a graph that cuda-core built (``cuda.core.graph``) are seen where they are added to it.
    """

    def __init__(self, recorder: Recorder, gpu: RunningGpu, patches: Patches) -> None:
        self._recorder = recorder
        self._gpu = gpu
        self._patches = patches
        self._stand_ins = StandIns(patches, "cuda")
        self._marking: list[Any] = []  # classes of options that say whether they were given an arch
        # The code that was compiled, and from what. A kernel does not keep its code alive: so this does, for a while.
        self._programs: deque[tuple[Any, CudaProgram]] = deque(maxlen=_MOST_PROGRAMS)
        self.modules: Mapping[str, Callable[[ModuleType], None]] = dict.fromkeys(_MODULES, self._follow)

    def _follow(self, module: ModuleType) -> None:
        options = getattr(module, "ProgramOptions", None)
        if hasattr(options, "__post_init__") and options not in self._marking:
            self._marking.append(options)
            self._patches.replace(options, "__post_init__", _noting_what_is_filled_in)
        self._stand_ins.put(module, "Program", self._recording_program)
        self._stand_ins.put(module, "launch", self._recording_launch)

    def _recording_program(self, original: type[Any]) -> type[Any]:
        recording = self

        class Program(original):  # type: ignore[misc] # a base that is found when it runs
            def __init__(self, code: Any, code_type: Any, options: Any = None) -> None:
                super().__init__(code, code_type, recording._to_load(options))
                self._made_of = (code, str(code_type), options)

            def compile(self, target_type: Any, name_expressions: Any = (), *args: Any, **kwargs: Any) -> Any:
                try:
                    compiled = super().compile(target_type, name_expressions, *args, **kwargs)
                except BaseException:
                    recording._note_program(self._made_of, target_type, name_expressions, compiled=None)
                    raise
                recording._note_program(self._made_of, target_type, name_expressions, compiled=compiled)
                return compiled

        return named_like(Program, original)

    def _note_program(
        self, made_of: tuple[Any, str, Any], target_type: Any, name_expressions: Any, *, compiled: Any
    ) -> None:
        if not self._patches.active:
            return
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
            follows_device=arch in (None, getattr(options, _FILLED_IN, None)) or self._gpu.is_named_by(arch),
            options=set_options,
            name_expressions=name_expressions,
            obstacle=f"cannot be rebuilt: {obstacle}" if obstacle else None,
        )

    def _to_load(self, options: Any) -> Any:
        """The options for a program that must load here, though it was written for the GPU that this one poses as."""
        arch = getattr(options, "arch", None)
        here = self._gpu.arch_to_load(arch) if isinstance(arch, str) and self._patches.active else arch
        return options if here == arch else dataclasses.replace(options, arch=here)

    def _recording_launch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self._recorder

        @functools.wraps(original)
        def launch(stream: Any, config: Any, kernel: Any, *args: Any) -> Any:
            if not recorder.active:
                return original(stream, config, kernel, *args)
            try:
                result = original(stream, config, kernel, *args)
            except BaseException:
                with recorder.guarded("a launch through cuda-core"):
                    self._note_launch(config, kernel, raised=True)
                raise
            try:  # this is the way of every launch
                if recorder.seen_objects.get((id(kernel), _shape_of(config))) is kernel:
                    return result
            except (AttributeError, TypeError):  # another release's configuration: what follows is slower, and tells
                pass
            with recorder.guarded("a launch through cuda-core"):
                self._note_if_new(config, kernel)
            return result

        return launch

    def _note_if_new(self, config: Any, kernel: Any) -> None:
        """By the kernel's handle, for a program may ask for its kernel anew at each launch."""
        seen = self._recorder.seen_objects
        shape = tuple(getattr(config, name, None) for name in _SHAPE)
        key = (shape, int(kernel.handle))  # no other key is so: a handle is a number, as an id is
        if key not in seen:
            self._note_launch(config, kernel, raised=False)
            seen[key] = seen[id(kernel), shape] = kernel  # kept, so that its handle and its id stay its own

    def _note_launch(self, config: Any, kernel: Any, *, raised: bool) -> None:
        cluster = extent(config.cluster) if config.cluster else None
        x, y, z = extent(config.grid)
        if cluster is not None:  # then the grid is one of clusters
            x, y, z = x * cluster[0], y * cluster[1], z * cluster[2]
        dynamic = int(config.shmem_size or 0)
        launch = CudaLaunch(
            kernel=_name_of(kernel),
            block=extent(config.block),
            grid=(x, y, z),
            dynamic_shared_memory=dynamic,
            cluster=cluster,
            cooperative=bool(getattr(config, "is_cooperative", False)),
            **what_is_allowed(functools.partial(_attribute_of, kernel), dynamic),
        )
        program = self._program_of(kernel, launch.kernel)
        self._recorder.note(msgspec.structs.replace(program, launch=launch), launch.grid, raised=raised)

    def _program_of(self, kernel: Any, name: str | None) -> CudaProgram:
        """What the kernel was compiled from: what holds its name, and is loaded where the kernel is.

        To ask code for its handle loads it, which fails for what was built for another GPU.
        """
        library = _library_of(kernel)
        named = b"" if name is None else name.encode()
        for code, program in [*self._programs][::-1]:
            if named in code.code and _is_loaded_as(code, library):
                return program
        raise LookupError(
            "its kernel was not compiled by cuda.core.Program in this process,"
            f" or {_MOST_PROGRAMS} others were after it"
        )


def _noting_what_is_filled_in(original: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(original)
    def __post_init__(options: Any) -> None:  # noqa: N807 - it stands in for a dataclass's
        given = options.arch
        original(options)
        if given is None:
            setattr(options, _FILLED_IN, options.arch)

    return __post_init__


def _name(code: Any, given: str | None) -> str:
    """The program's name, or that of its first kernel where it was given none."""
    return given if given and given != _DEFAULT_NAME else first_kernel(code, _DEFAULT_NAME)


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


def _is_loaded_as(code: Any, library: int) -> bool:
    with contextlib.suppress(Exception):
        return int(code.handle) == library
    return False


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
            found[field.name] = encode(value, no_functions)
        except CannotEncodeError as error:
            return found, f"option {field.name}: {error}"
    return found, None


def _attribute_of(kernel: Any, number: int) -> int | None:
    """As the driver has it: cuda-core's own attribute is what it was when it was first asked for."""
    from cuda.bindings import driver

    status, device = driver.cuCtxGetDevice()
    if status != driver.CUresult.CUDA_SUCCESS:
        return None
    status, value = driver.cuKernelGetAttribute(driver.CUfunction_attribute(number), kernel.handle, device)
    return int(value) if status == driver.CUresult.CUDA_SUCCESS else None
