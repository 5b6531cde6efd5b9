"""Follows the launches of the Triton kernels that torch.compile generates."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_gpumatrix.portability.patching.patches import Patches
from pytest_gpumatrix.portability.tape.launch import FunctionReference, TritonKernel
from pytest_gpumatrix.portability.tape.sources import generated_hash
from pytest_gpumatrix.portability.tape.values import CannotEncodeError, encode_if_possible

if TYPE_CHECKING:
    from pytest_gpumatrix.portability.recording.recorder import Recorder


@dataclass(frozen=True, kw_only=True, slots=True)
class _Generated:
    """A generated kernel with each of its configurations."""

    kernels: tuple[TritonKernel, ...]
    open_to_more: bool


class InductorRecording:
    """Wraps ``CachingAutotuner.run``, which every launch from the Python code that torch.compile generates passes.

    So do kernels that Inductor's worker processes compiled, and those that are served from its caches. Seen with
    torch 2.11 and 2.13. Launches from generated C++ (``cpp_wrapper``, AOTInductor) do not pass here.
    """

    def __init__(self, recorder: Recorder, patches: Patches) -> None:
        self._recorder = recorder
        self._patches = patches
        self._known: WeakKeyDictionary[Any, _Generated] = WeakKeyDictionary()  # tuning leaves one configuration
        self.modules: Mapping[str, Callable[[ModuleType], None]] = {
            "torch._inductor.runtime.triton_heuristics": self._follow
        }

    def _follow(self, module: ModuleType) -> None:
        self._patches.replace(module.CachingAutotuner, "run", self._recording_run)

    def _recording_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self._recorder

        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            tuner = args[0]
            if not recorder.active or recorder.seen_objects.get(id(tuner)) is tuner:
                return original(*args, **kwargs)  # as they came: this is the way of every launch
            before: list[_Configuration] | None = []
            with recorder.guarded(f"a launch of {_name(tuner)}"):
                timing = kwargs.get("benchmark_run") or _inductor_is_compiling()
                before = None if timing or tuner.device_props.type != "cuda" else _configurations(tuner)
            if before is None:
                return original(*args, **kwargs)
            try:
                result = original(*args, **kwargs)
            except BaseException:
                self._note(tuner, before, raised=True)
                raise
            self._note(tuner, before, raised=False)
            recorder.seen_objects[id(tuner)] = tuner
            return result

        return run

    def _note(self, tuner: Any, before: list[_Configuration], *, raised: bool) -> None:
        with self._recorder.guarded(f"a launch of {_name(tuner)}"):
            generated = self._known.get(tuner)
            if generated is None:
                generated = self._known[tuner] = _described(tuner, before)
            if len(generated.kernels) == 1 and not generated.open_to_more:
                self._recorder.note(generated.kernels[0], raised=raised)
            else:
                self._recorder.note_alternatives(
                    [(kernel, True) for kernel in generated.kernels],
                    raised=raised,
                    open_to_more=generated.open_to_more,
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Configuration:
    """One set of block sizes and the like, with what Triton is given for it."""

    config: Any  # a triton.Config
    meta: Mapping[str, Any]

    @property
    def key(self) -> tuple[Any, ...]:
        return (sorted(self.config.kwargs.items()), self.config.num_warps, self.config.num_stages)


def _configurations(tuner: Any) -> list[_Configuration]:
    """Those that were compiled, else those that will be: tuning leaves one of them."""
    compiled = [_Configuration(config=result.config, meta=result.compile_meta) for result in tuner.compile_results]
    return compiled or [_to_be_compiled(tuner, config) for config in tuner.configs or ()]


def _to_be_compiled(tuner: Any, config: Any) -> _Configuration:
    """As ``CachingAutotuner._create_compile_meta`` has it on a CUDA GPU, torch 2.11 to 2.13."""
    constants = {**tuner.triton_meta["constants"], **config.kwargs}
    for name in ("num_warps", "num_stages"):
        if name in tuner.fn.arg_names:
            constants.setdefault(name, getattr(config, name))
    checks = tuner.inductor_meta.get("assert_indirect_indexing", True)
    own = {"constants": constants, "num_warps": config.num_warps, "num_stages": config.num_stages, "debug": checks}
    return _Configuration(config=config, meta={**tuner.triton_meta, **own})


def _described(tuner: Any, before: list[_Configuration]) -> _Generated:
    found = {repr(entry.key): entry for entry in before}
    for launcher in tuner.launchers:  # tuning may have found one that was in no list
        launched = _to_be_compiled(tuner, launcher.config)
        found.setdefault(repr(launched.key), launched)
    if not found:
        raise LookupError("it has no configuration")
    function = _reference(tuner)
    cached: Mapping[str, Any] = getattr(tuner, "autotune_cache_info", None) or {}  # newer releases say
    return _Generated(
        kernels=tuple(_kernel(tuner, function, entry) for entry in found.values()),
        # On another device Inductor would look for what is fastest there. A kernel of the user's own has the
        # configurations that the user gave it, unless one was taken from the cache of an earlier tuning.
        open_to_more=not tuner.custom_kernel or cached.get("autotune_cache_state") == "hit",
    )


def _kernel(tuner: Any, function: FunctionReference, entry: _Configuration) -> TritonKernel:
    names = list(tuner.fn.arg_names)
    obstacles: list[str] = []
    constants = tuple(
        (_path(key, names), encode_if_possible(f"argument {key}", value, _no_functions, obstacles))
        for key, value in entry.meta["constants"].items()
    )
    [attributes] = entry.meta["configs"]
    return TritonKernel(
        function=function,
        signature=dict(entry.meta["signature"]),
        constants=constants,
        attributes=tuple((tuple(path), hints) for path, hints in attributes.items()),
        options={
            name: encode_if_possible(f"option {name}", value, _no_functions, obstacles)
            for name, value in _options(entry.meta).items()
        },
        obstacle=f"cannot be rebuilt: {obstacles[0]}" if obstacles else None,
    )


def _options(meta: Mapping[str, Any]) -> dict[str, Any]:
    """As ``CachingAutotuner._create_compile_options`` has them for a CUDA GPU, torch 2.11 to 2.13."""
    options = {
        "num_warps": meta["num_warps"],
        "num_stages": meta["num_stages"],
        "debug": meta["debug"],
        "sanitize_overflow": False,
    }
    if "enable_fp_fusion" in meta:
        options["enable_fp_fusion"] = meta["enable_fp_fusion"]
    if meta.get("disable_ftz"):
        options["enable_reflect_ftz"] = False
    extra = ("launch_cooperative_grid", "launch_pdl", "num_consumer_groups", "num_buffers_warp_spec")
    return options | {name: meta[name] for name in extra if meta.get(name)}


def _path(key: Any, names: list[str]) -> tuple[int, ...]:
    """The position of an argument, which torch gives by name or as Triton does."""
    if isinstance(key, str):
        return (names.index(key),)
    return key if isinstance(key, tuple) else (key,)


def _no_functions(value: Any) -> FunctionReference:
    raise CannotEncodeError(f"a {type(value).__qualname__} is no constant")


def _reference(tuner: Any) -> FunctionReference:
    file = _file(tuner)
    text = file.read_text(encoding="utf-8")
    function = tuner.fn
    return FunctionReference(
        module=str(function.__module__),
        qualname=str(function.__name__),
        file=file.name,  # it is named for a hash of its content
        line=int(function.starting_line_number),
        source_hash=generated_hash(text, sys.modules["torch"].__version__),
        text=text,
    )


def _file(tuner: Any) -> Path:
    """The module that Inductor wrote. What its workers compile comes back without the function, which knew its file."""
    for path in _places(tuner):
        if path and Path(path).is_file():
            return Path(path)
    raise LookupError("the module that torch.compile generated is on no disk any more")


def _places(tuner: Any) -> Iterator[str | None]:
    function, module = tuner.fn, str(tuner.fn.__module__)
    if function.fn is not None:
        yield function.fn.__code__.co_filename
    yield tuner.filename
    yield getattr(sys.modules.get(module), "__file__", None)
    codecache = sys.modules.get("torch._inductor.codecache")
    if codecache is not None:
        _, _, path = codecache.get_path(module.rpartition(".")[2], "py")
        yield path


def _inductor_is_compiling() -> bool:
    """Whether this thread is compiling a graph: what it launches then is for timing alone."""
    virtualized = sys.modules.get("torch._inductor.virtualized")
    return virtualized is not None and not isinstance(virtualized.V.graph, virtualized.NullHandler)


def _name(tuner: Any) -> str:
    return str(getattr(getattr(tuner, "fn", None), "__name__", "a generated kernel"))
