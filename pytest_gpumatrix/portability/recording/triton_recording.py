"""Follows Triton's launches: native ones, interpreted ones, and the autotuner's configurations."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.recording.autotuner import Plan, cheap_key, plan_of, take_first_configuration
from pytest_gpumatrix.portability.recording.specialise import Specialiser, compiling_twin, make_specialiser, refer_to
from pytest_gpumatrix.portability.tape.launch import TritonKernel

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.recording.recorder import Recorder


@dataclass(slots=True)
class _Tuning:
    """A call of an autotuner, which records its configurations: what it times is not recorded by itself.

    Other kernels that are launched inside it, by a hook or by what computes the grid, are.
    """

    function: Any  # the tuner's own
    collecting: list[TritonKernel] | None = None  # specialise into this list, and launch nothing
    launched: Any = None  # the last compiled kernel: natively, that of the configuration that was chosen


class _Thread(threading.local):
    tuning: _Tuning | None = None  # what a launch in this thread is part of


class TritonRecording:
    """Wraps the three places that every launch passes, in triton 3.4 to 3.7.

    ``JITFunction.run`` for native launches, whether they compile or are served from a cache;
    ``GridExecutor.__call__`` for interpreted ones; ``Autotuner.run`` around either.
    """

    def __init__(self, recorder: Recorder, rootdir: Path, patches: Patches) -> None:
        self._recorder = recorder
        self._rootdir = rootdir
        self._patches = patches
        self._thread = _Thread()
        # By the id of the jit function, which is kept so that the id stays its own.
        self._specialisers: dict[int, tuple[Any, Specialiser]] = {}
        # What was recorded, by the compiled kernel that it led to: natively this is one look-up in the next test.
        self._compiled: dict[int, tuple[Any, TritonKernel]] = {}
        self._tuned: dict[tuple[int, int], tuple[Any, Any, list[tuple[TritonKernel, bool]]]] = {}
        self._plans: dict[int, Plan] = {}
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
        thread, recorder = self._thread, self._recorder

        # The arguments are passed on as they came: this is the way of every launch, and to take them apart is dear.
        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            if (tuning := thread.tuning) is not None and args[0] is tuning.function:
                if tuning.collecting is not None:
                    tuning.collecting.append(self._specialised(args[0], args[1:], kwargs))
                    return None
                tuning.launched = original(*args, **kwargs)
                return tuning.launched
            if not recorder.active:
                return original(*args, **kwargs)
            try:
                kernel = original(*args, **kwargs)
            except BaseException:
                self._note(args[0], args[1:], kwargs, None, raised=True)
                raise
            # The compiled kernel stands for its specialisation, so that a launch that was seen costs one look-up.
            if kernel is None or recorder.seen_objects.get(id(kernel)) is not kernel:
                self._note(args[0], args[1:], kwargs, kernel, raised=False)
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
        thread, recorder = self._thread, self._recorder

        @functools.wraps(original)
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            tuning = thread.tuning
            tuned = tuning is not None and self._interpreted.get(executor.fn, tuning.function) is tuning.function
            if tuned and tuning is not None and tuning.collecting is not None:
                tuning.collecting.append(self._specialised(self._interpreted[executor.fn], args, kwargs))
                return None
            if not recorder.active or tuned:
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
        thread, recorder = self._thread, self._recorder

        @functools.wraps(original)
        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            plan = self._plans.get(id(tuner))
            if plan is None or plan.configs is not tuner.configs:
                plan = self._plans[id(tuner)] = plan_of(tuner)
            if plan.interpreted and self._patches.active:
                take_first_configuration(tuner)
            outer = thread.tuning
            within = outer is not None and outer.function is plan.function  # a tuner around this one records
            if not recorder.active or len(plan.configs) < 2 or within:
                return original(tuner, *args, **kwargs)
            if plan.early:
                self._note_before(tuner, args, kwargs, interpreted=plan.interpreted)
            tuning = thread.tuning = _Tuning(plan.function)
            try:
                return original(tuner, *args, **kwargs)
            finally:
                thread.tuning = outer
                if not plan.early and (id(tuner), id(tuning.launched)) not in recorder.seen_objects:
                    self._note_after(tuner, args, kwargs, tuning.launched)

        return run

    def _note_before(self, tuner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, interpreted: bool) -> None:
        with self._recorder.guarded(f"the configurations of {_name(tuner)}"):
            # A test may replace a constant between two launches; natively Triton refuses the second.
            sources = refer_to(tuner, self._rootdir).source_hash if interpreted else None
            key = cheap_key((id(tuner), sources, *args, *kwargs.items()))
            if key is not None and key in self._recorder.seen_objects:
                return
            self._recorder.note_alternatives(self._configurations(tuner, args, kwargs))
            if key is not None:
                self._recorder.seen_objects[key] = tuner  # kept, so that its id stays its own

    def _note_after(self, tuner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], launched: Any) -> None:
        key = (id(tuner), id(launched))
        with self._recorder.guarded(f"the configurations of {_name(tuner)}"):
            known = self._tuned.get(key) if launched is not None else None
            if known is None:
                known = (tuner, launched, self._configurations(tuner, args, kwargs))
            if launched is not None:
                self._tuned[key] = known
                self._recorder.seen_objects[key] = launched
            self._recorder.note_alternatives(known[2])

    def _configurations(
        self, tuner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> list[tuple[TritonKernel, bool]]:
        """Specialise the launch for each configuration, as tuning does, without launching.

        A configuration's ``pre_hook`` is run as in tuning, for it may set the block shape of a tensor descriptor;
        the launch that follows runs its own again.
        """
        before = getattr(tuner, "nargs", None)
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        try:
            kept = {id(config) for config in tuner.prune_configs(kwargs)}
            found = []
            for config in tuner.configs:
                if config.pre_hook is not None:
                    config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
                launch = functools.partial(tuner.fn.run, *args, **kwargs, **config.all_kwargs())
                found += [(kernel, id(config) in kept) for kernel in self._collected(tuner, launch)]
        finally:
            tuner.nargs = before
        return found

    def _collected(self, tuner: Any, launch: Callable[[], Any]) -> list[TritonKernel]:
        """What the tuner would launch."""
        outer = self._thread.tuning
        tuning = self._thread.tuning = _Tuning(self._plans[id(tuner)].function, collecting=[])
        try:
            launch()
        finally:
            self._thread.tuning = outer
        return tuning.collecting or []

    def _note(
        self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], compiled: Any, *, raised: bool
    ) -> None:
        with self._recorder.guarded(f"a launch of {_name(function)}"):
            known = self._compiled.get(id(compiled)) if compiled is not None else None
            if known is None:
                known = (compiled, self._specialised(function, args, kwargs))
            if compiled is not None:
                self._compiled[id(compiled)] = known
            self._recorder.note(known[1], kwargs.get("grid"), raised=raised)

    def _specialised(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TritonKernel:
        known = self._specialisers.get(id(function))
        if known is None:
            jit_function = compiling_twin(function) if hasattr(function, "rewrite") else function
            known = self._specialisers[id(function)] = (function, make_specialiser(jit_function, self._rootdir))
        return known[1](args, kwargs)


def _name(function: Any) -> str:
    while not hasattr(function, "__name__") and hasattr(function, "fn"):
        function = function.fn
    return str(getattr(function, "__name__", function))
