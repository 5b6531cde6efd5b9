"""A Triton launch -> the specialisation that Triton would compile it for. Imports triton inside functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_gpumatrix.portability.tape.launch import FunctionReference, TritonKernel
from pytest_gpumatrix.portability.tape.sources import source_hash
from pytest_gpumatrix.portability.tape.value_parts import underlying_function
from pytest_gpumatrix.portability.tape.values import CannotEncodeError, encode_if_possible

# What a launch is given beside the kernel's arguments and the compiler's options.
_NOT_OPTIONS = frozenset({"grid", "warmup"})
# Arguments are specialised alike for every CUDA target, so any will do.
_ANY_CAPABILITY = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Specialiser:
    """Specialises the launches of one jit function."""

    function: Any  # the JITFunction
    bind: Callable[..., tuple[Mapping[str, Any], list[Any], Mapping[str, Any]]]
    parse_attribute: Callable[[str], list[Any]]
    refer: Callable[[Any], FunctionReference]
    defaults: Mapping[str, Any]  # options by the decorator

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TritonKernel:
        """The specialisation of a launch with these arguments, as ``JITFunction.run`` would make it.

        Pointers are specialised by their own alignment: a CPU tensor's data lies on a multiple of 64 bytes,
        as a GPU allocation does on one of 256, so what is misaligned is a view that would be so there too.
        """
        from triton._utils import find_paths_if, get_iterable_path

        reference = self.refer(self.function)
        references = [reference]

        def refer(function: Any) -> FunctionReference:
            references.append(self.refer(function))
            return references[-1]

        arguments = {name: value for name, value in kwargs.items() if name not in _NOT_OPTIONS}
        bound, specialization, options = self.bind(*args, **arguments)
        types = [entry[0] for entry in specialization]
        hints = ["" if entry[0] == "constexpr" else entry[1] for entry in specialization]
        bound_values = list(bound.values())
        constants: list[tuple[tuple[int, ...], Any]] = []
        obstacles: list[str] = []
        for path in find_paths_if(types, lambda _, kind: kind == "constexpr"):
            value = get_iterable_path(bound_values, path)
            what = f"argument {list(bound)[path[0]]}"
            constants.append((tuple(path), encode_if_possible(what, value, refer, obstacles)))
        encoded_options = {
            name: encode_if_possible(f"option {name}", value, refer, obstacles)
            for name, value in {**self.defaults, **options}.items()
            if value is not None
        }
        attributes = tuple(
            (tuple(path), self.parse_attribute(get_iterable_path(hints, path)))
            for path in find_paths_if(hints, lambda _, hint: isinstance(hint, str))
        )
        if "<locals>" in reference.qualname:
            obstacles.append("defined inside a function")
        return TritonKernel(
            function=reference,
            signature=dict(zip(bound, types, strict=True)),
            constants=tuple(constants),
            attributes=attributes,
            options=encoded_options,
            obstacle=f"cannot be rebuilt: {obstacles[0]}" if obstacles else None,
            lasting=all(found.complete for found in references),
        )


def make_specialiser(jit_function: Any, rootdir: Path) -> Specialiser:
    """The specialiser of a ``triton.runtime.jit.JITFunction``; needs no GPU and no driver."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend
    from triton.runtime.jit import create_function_from_signature

    backend = make_backend(GPUTarget("cuda", _ANY_CAPABILITY, 32))
    return Specialiser(
        function=jit_function,
        bind=create_function_from_signature(jit_function.signature, jit_function.params, backend),
        parse_attribute=backend.parse_attr,
        refer=lambda function: refer_to(function, rootdir),
        defaults={"debug": True} if jit_function.debug else {},
    )


def compiling_twin(interpreted: Any) -> Any:
    """The JITFunction of an ``InterpretedFunction``: the same code, decorated with the same options."""
    from triton.runtime.jit import JITFunction

    # Older releases keep the decorator's options in the rewriter alone.
    options = getattr(interpreted, "kwargs", None) or interpreted.rewriter.kwargs
    accepted = inspect.signature(JITFunction).parameters
    return JITFunction(interpreted.fn, **{name: value for name, value in options.items() if name in accepted})


def refer_to(value: Any, rootdir: Path) -> FunctionReference:
    """Where a jit function, under its decorators, is defined. CannotEncodeError for what is not one."""
    function = underlying_function(value)
    if function is None:
        raise CannotEncodeError(f"a {type(value).__qualname__} is no jit function")
    sources = source_hash(function)
    return FunctionReference(
        module=function.__module__,
        qualname=function.__qualname__,
        file=_told(function.__code__.co_filename, rootdir),
        line=function.__code__.co_firstlineno,
        source_hash=sources.text,
        files={_told(file, rootdir): content for file, content in sources.files.items()},
        complete=sources.complete,
    )


@functools.lru_cache(maxsize=1024)
def _told(name: str, rootdir: Path) -> str:
    """A file as it stands on a tape: relative to the rootdir if it is inside."""
    file = Path(name)
    return file.relative_to(rootdir).as_posix() if file.is_relative_to(rootdir) else str(file)
