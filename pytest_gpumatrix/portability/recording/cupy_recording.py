"""Follows CUDA C++ that is launched through CuPy's RawKernel and RawModule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.patching.stand_ins import StandIns, named_like
from pytest_gpumatrix.portability.recording.cuda_launches import extent, no_functions
from pytest_gpumatrix.portability.recording.nvrtc_options import program_options
from pytest_gpumatrix.portability.tape.launch import CudaLaunch, CudaProgram
from pytest_gpumatrix.portability.tape.values import encode

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.recording.recorder import Recorder

# What CuPy adds to the options (cupy/cuda/compiler.py of CuPy 13 and 14), where they do not say otherwise.
_OWN_OPTIONS = {"ftz": True, "device_as_default_execution_space": True, "std": "c++17"}
# Arguments of a RawKernel or RawModule that change the code on its way to the compiler.
_TRANSLATIONS = ("translate_cucomplex", "jitify")
_POSITION_OF_TRANSLATE = 4  # of a RawKernel


@dataclass(frozen=True, kw_only=True, slots=True)
class _Origin:
    """Where a kernel comes from."""

    translation: str | None  # an argument that has CuPy change the code
    module: Any = None  # the RawModule, if it is of one

    @property
    def name_expressions(self) -> tuple[str, ...]:
        return tuple(getattr(self.module, "name_expressions", None) or ())

    def mangled(self, name: str) -> str | None:
        """The kernel's name in the code: its own, unless it is one of the module's expressions."""
        if name not in self.name_expressions:
            return name
        mapping = getattr(self.module.module, "mapping", None) or {}
        return mapping.get(name)


class CupyRecording:
    """Puts recording subclasses in the places of ``cupy.RawKernel`` and ``cupy.RawModule``.

    CuPy compiles for the GPU that is here, so what it compiles follows the device. Its own kernels (element-wise ones,
    reductions) are not followed, nor those of ``cupyx.jit``.
    """

    def __init__(self, recorder: Recorder, patches: Patches) -> None:
        self._recorder = recorder
        self._stand_ins = StandIns(patches, "cupy")
        self.modules: Mapping[str, Callable[[ModuleType], None]] = {"cupy": self._follow}

    def _follow(self, module: ModuleType) -> None:
        self._stand_ins.put(module, "RawKernel", self._recording_kernel)
        self._stand_ins.put(module, "RawModule", self._recording_module)

    def _recording_kernel(self, original: type[Any]) -> type[Any]:
        recording = self

        class RawKernel(original):  # type: ignore[misc] # a base that is found when it runs
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                self._translation = _translation(args, kwargs)

            def __call__(self, grid: Any, block: Any, args: Any, **kwargs: Any) -> Any:
                origin = _Origin(translation=self._translation)
                return recording._launch(super().__call__, self, origin, grid, block, args, **kwargs)

        return named_like(RawKernel, original)

    def _recording_module(self, original: type[Any]) -> type[Any]:
        recording = self

        class RawModule(original):  # type: ignore[misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                self._translation = _translation((), kwargs)

            def get_function(self, name: str) -> Any:
                kernel = super().get_function(name)
                origin = _Origin(translation=self._translation, module=self)
                return _KernelOfModule(kernel, functools.partial(recording._launch, kernel, kernel, origin))

        return named_like(RawModule, original)

    def _launch(
        self, call: Callable[..., Any], kernel: Any, origin: _Origin, grid: Any, block: Any, args: Any, **kwargs: Any
    ) -> Any:
        if not self._recorder.active:
            return call(grid, block, args, **kwargs)
        shared_memory = kwargs.get("shared_mem", 0)
        try:
            result = call(grid, block, args, **kwargs)
        except BaseException:
            self._note(kernel, origin, grid, block, shared_memory, raised=True)
            raise
        key = (id(kernel), *grid, *block, shared_memory)
        if key not in self._recorder.seen_objects:
            self._note(kernel, origin, grid, block, shared_memory, raised=False)
            self._recorder.seen_objects[key] = kernel  # kept, so that its id stays its own
        return result

    def _note(
        self, kernel: Any, origin: _Origin, grid: Sequence[int], block: Sequence[int], shared: int, *, raised: bool
    ) -> None:
        with self._recorder.guarded("a launch of a CuPy kernel"):
            options, unknown = program_options(kernel.options)
            program = CudaProgram(
                name=kernel.name,
                source=kernel.code or "",
                code_type="c++",
                target_type="cubin",
                arch="",
                follows_device=True,
                options={name: encode(value, no_functions) for name, value in {**_OWN_OPTIONS, **options}.items()},
                name_expressions=origin.name_expressions,
                launch=CudaLaunch(
                    kernel=origin.mangled(kernel.name),
                    block=extent(block),
                    grid=extent(grid),
                    dynamic_shared_memory=shared,
                    cooperative=bool(kernel.enable_cooperative_groups),
                    shared_memory_opt_in=kernel.max_dynamic_shared_size_bytes if shared and not raised else None,
                ),
                obstacle=_obstacle(kernel, origin, unknown),
            )
            self._recorder.note(program, extent(grid), raised=raised)


class _KernelOfModule:
    """A kernel of CuPy's own making, which only it can make: all but its launch is left to it."""

    def __init__(self, kernel: Any, launch: Callable[..., Any]) -> None:
        object.__setattr__(self, "_kernel", kernel)
        object.__setattr__(self, "_launch", launch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._kernel, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._launch(*args, **kwargs)


def _translation(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    if len(args) > _POSITION_OF_TRANSLATE and args[_POSITION_OF_TRANSLATE]:
        return _TRANSLATIONS[0]
    return next((name for name in _TRANSLATIONS if kwargs.get(name)), None)


def _obstacle(kernel: Any, origin: _Origin, unknown: str | None) -> str | None:
    if kernel.file_path is not None:
        return f"cannot be rebuilt: CuPy loaded it from {kernel.file_path}"
    if kernel.backend != "nvrtc":
        return f"cannot be rebuilt: CuPy compiles it with {kernel.backend}"
    if origin.translation is not None:
        return f"cannot be rebuilt: CuPy changes the code, for {origin.translation} is on"
    return f"cannot be rebuilt: {unknown}" if unknown else None
