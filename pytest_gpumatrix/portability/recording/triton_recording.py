"""Follows Triton's launches: native ones, interpreted ones, and the autotuner's configurations."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.recording.specialise import Specialiser, compiling_twin, make_specialiser, refer_to
from pytest_gpumatrix.portability.tape.launch import TritonKernel

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.recording.recorder import Recorder


class _Mode(threading.local):
    """What a launch in this thread means: of its own, or one step of the autotuner's."""

    collecting: list[TritonKernel] | None = None  # specialise into this list, and launch nothing
    tuning = False  # the configurations are on the tape already


class TritonRecording:
    """Wraps the three places that every launch passes, in triton 3.4 to 3.7.

    ``JITFunction.run`` for native launches, whether they compile or are served from a cache;
    ``GridExecutor.__call__`` for interpreted ones; ``Autotuner.run`` around either.
    """

    def __init__(self, recorder: Recorder, rootdir: Path, patches: Patches) -> None:
        self._recorder = recorder
        self._rootdir = rootdir
        self._patches = patches
        self._mode = _Mode()
        # By the id of the jit function, which is kept so that the id stays its own.
        self._specialisers: dict[int, tuple[Any, Specialiser]] = {}
        self._interpreted: dict[Any, Any] = {}  # the interpreter's rewritten function -> its InterpretedFunction
        self.modules: Mapping[str, Callable[[ModuleType], None]] = {
            "triton.runtime.jit": self._follow_native,
            "triton.runtime.interpreter": self._follow_interpreter,
            "triton.runtime.autotuner": self._follow_autotuner,
        }

    def _follow_native(self, module: ModuleType) -> None:
        self._patches.replace(module.JITFunction, "run", self._recording_run)

    def _follow_interpreter(self, module: ModuleType) -> None:
        self._patches.replace(module.InterpretedFunction, "rewrite", self._remembering_rewrite)
        self._patches.replace(module.GridExecutor, "__call__", self._recording_call)

    def _follow_autotuner(self, module: ModuleType) -> None:
        self._patches.replace(module.Autotuner, "run", self._recording_tuner)

    def _recording_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        mode, recorder = self._mode, self._recorder

        @functools.wraps(original)
        def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if mode.collecting is not None:
                mode.collecting.append(self._specialised(function, args, kwargs))
                return None
            if recorder.test is None or mode.tuning:
                return original(function, *args, grid=grid, warmup=warmup, **kwargs)
            try:
                kernel = original(function, *args, grid=grid, warmup=warmup, **kwargs)
            except BaseException:
                self._note(function, args, kwargs, grid, raised=True)
                raise
            # The compiled kernel stands for its specialisation, so that a launch that was seen costs one look-up.
            if kernel is None or recorder.seen_objects.get(id(kernel)) is not kernel:
                self._note(function, args, kwargs, grid, raised=False)
                recorder.seen_objects[id(kernel)] = kernel
            return kernel

        return run

    def _remembering_rewrite(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def rewrite(interpreted: Any) -> Any:
            rewritten = original(interpreted)
            self._interpreted[rewritten] = interpreted
            return rewritten

        return rewrite

    def _recording_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        mode, recorder = self._mode, self._recorder

        @functools.wraps(original)
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            if mode.collecting is not None:
                mode.collecting.append(self._specialised(self._interpreted[executor.fn], args, kwargs))
                return None
            if recorder.test is None or mode.tuning:
                return original(executor, *args, **kwargs)
            raised = True
            try:
                result = original(executor, *args, **kwargs)
                raised = False
            finally:
                with recorder.guarded(f"a launch of {_name(executor)}"):
                    kernel = self._specialised(self._interpreted[executor.fn], args, kwargs)
                    recorder.note(kernel, executor.grid, raised=raised)
            return result

        return call

    def _recording_tuner(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self._recorder

        @functools.wraps(original)
        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            if self._patches.active and self._is_interpreted(tuner):
                _take_first_configuration(tuner)
            if recorder.test is None or len(tuner.configs) < 2 or self._mode.collecting is not None:
                return original(tuner, *args, **kwargs)
            with recorder.guarded(f"the configurations of {_name(tuner)}"):
                self._note_configurations(tuner, args, kwargs)
            with self._set(tuning=True):
                return original(tuner, *args, **kwargs)

        return run

    def _note_configurations(self, tuner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Specialise the launch for each configuration, as tuning does, without launching.

        A configuration's ``pre_hook`` is run as in tuning, for it may set the block shape of a tensor descriptor;
        the launch that follows runs its own again.
        """
        sources = refer_to(tuner, self._rootdir).source_hash  # a test may replace a constant between two launches
        key = _cheap_key((id(tuner), sources, *args, *kwargs.items()))
        if key is not None and key in self._recorder.seen_objects:
            return
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        kept = {id(config) for config in tuner.prune_configs(kwargs)}
        found = []
        for config in tuner.configs:
            if config.pre_hook is not None:
                config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
            with self._set(collecting=[]) as kernels:
                tuner.fn.run(*args, **kwargs, **config.all_kwargs())
            found += [(kernel, id(config) in kept) for kernel in kernels]
        self._recorder.note_alternatives(found)
        if key is not None:
            self._recorder.seen_objects[key] = tuner  # kept, so that its id stays its own

    def _note(
        self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any, *, raised: bool
    ) -> None:
        with self._recorder.guarded(f"a launch of {_name(function)}"):
            self._recorder.note(self._specialised(function, args, kwargs), grid, raised=raised)

    def _specialised(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TritonKernel:
        known = self._specialisers.get(id(function))
        if known is None:
            jit_function = compiling_twin(function) if hasattr(function, "rewrite") else function
            known = self._specialisers[id(function)] = (function, make_specialiser(jit_function, self._rootdir))
        return known[1](args, kwargs)

    @contextmanager
    def _set(self, *, collecting: list[TritonKernel] | None = None, tuning: bool = False) -> Iterator[Any]:
        before = self._mode.collecting, self._mode.tuning
        self._mode.collecting, self._mode.tuning = collecting, tuning
        try:
            yield collecting
        finally:
            self._mode.collecting, self._mode.tuning = before

    @staticmethod
    def _is_interpreted(tuner: Any) -> bool:
        function = tuner
        while hasattr(function, "fn") and not hasattr(function, "rewrite"):
            function = function.fn
        return hasattr(function, "rewrite")


def _take_first_configuration(tuner: Any) -> None:
    """There is nothing to time on an interpreter, and asking for a GPU's timer would fail: all take no time."""
    if tuner._do_bench is None:
        tuner.__dict__["do_bench"] = lambda kernel_call, quantiles: [0.0] * len(quantiles)  # noqa: ARG005


def _cheap_key(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Equal for launches of one specialisation alone, and fast; None where that cannot be told."""
    key = []
    for value in values:
        part: Any
        if value is None or type(value) in (bool, int, float, str):
            part = (type(value), value)
        elif hasattr(value, "data_ptr"):
            part = (value.dtype, value.data_ptr() % 16)
        elif isinstance(value, tuple):
            part = _cheap_key(value)
        elif hasattr(value, "block_shape"):  # a tensor descriptor; tuning sets its block shape
            part = _cheap_key((value.base, *value.block_shape))
        else:
            part = None
        if part is None:
            return None
        key.append(part)
    return tuple(key)


def _name(function: Any) -> str:
    while not hasattr(function, "__name__") and hasattr(function, "fn"):
        function = function.fn
    return str(getattr(function, "__name__", function))
