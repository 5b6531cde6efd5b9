"""Compiles a recorded Triton kernel for an architecture. Runs in a compiling process only."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Status
from pytest_gpumatrix.portability.compiling.read_figures import read_figures
from pytest_gpumatrix.portability.compiling.rebuild import find_jit_function
from pytest_gpumatrix.portability.compiling.refusals import fault_of_this_machine
from pytest_gpumatrix.portability.compiling.target_driver import driving
from pytest_gpumatrix.portability.compiling.triton_options import refused_option
from pytest_gpumatrix.portability.compiling.type_check import refused_type
from pytest_gpumatrix.portability.tape.launch import TritonKernel
from pytest_gpumatrix.portability.tape.values import decode

WARP_SIZE = 32
_PTXAS_ERROR = re.compile(r"^ptxas(?:-\w+)? .*?(?:error|fatal)\s*: *(\S.*)$", re.MULTILINE)


def compile_triton(kernel: TritonKernel, arch: str, rootdir: Path, started: Callable[[], None]) -> Compiled:
    """Compile for "sm_86" and the like; Triton itself adds the "a" from 9.0 on.

    ``started`` is called once the kernel is found. CannotRebuildError if it is not. It is compiled past Triton's own
    cache, and with the assembler's report printed, if the environment says so: see ``compiling_environment``.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    function = find_jit_function(kernel.function, rootdir)
    constants = {path: decode(value, lambda ref: find_jit_function(ref, rootdir)) for path, value in kernel.constants}
    options = {
        name: decode(value, lambda ref: find_jit_function(ref, rootdir)) for name, value in kernel.options.items()
    }
    target = GPUTarget("cuda", int(arch.removeprefix("sm_")), WARP_SIZE)
    backend = make_backend(target)
    if refused := refused_option(options, vars(backend.parse_options({}))):
        return Compiled(status=Status.UNKNOWN, message=_one_line(f"not compiled: {refused}"))
    if refused := refused_type(list(kernel.signature.values())):
        return Compiled(status=Status.UNKNOWN, message=_one_line(f"not compiled: {refused} is no type of a parameter"))
    started()
    try:
        known = vars(backend.parse_options(dict(options)))
    except (ValueError, AssertionError) as error:  # this target, or any, does not take a value: it ends a tuner too
        return Compiled(status=Status.REFUSED, message=_one_line(str(error) or repr(error)))
    if unknown := sorted(options.keys() - known.keys()):
        return Compiled(status=Status.REFUSED, message=f"Keyword argument {unknown[0]} was specified but unrecognised")
    signature = {name: _as_tuples(kind) for name, kind in kernel.signature.items()}
    attributes = dict(kernel.attributes)
    source = _source_class(function)(function, signature, constants, attributes)
    printed = io.StringIO()
    try:
        with driving(target), contextlib.redirect_stdout(printed):
            compiled = triton.compile(source, target=target, options=options)
    except Exception as error:  # noqa: BLE001 - sorted out there; what is not the compiler's is unknown
        return _refusal(error, arch)
    metadata = compiled.metadata
    return Compiled(
        status=Status.COMPILED,
        shared_memory=metadata.shared,
        threads=metadata.num_warps * WARP_SIZE,
        tensor_memory=getattr(metadata, "tmem_size", None),
        blocks_per_cluster=metadata.num_ctas,
        kernels=read_figures(
            compiled.asm.get("cubin"),
            Binary.parse(arch, ptx=False).capability,
            printed.getvalue(),
            compiled.asm.get("ptx"),
        ),
    )


def _refusal(error: Exception, arch: str) -> Compiled:
    from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
    from triton.runtime.errors import PTXASError

    fault = fault_of_this_machine(str(error), arch)
    if fault is not None and isinstance(error, (PTXASError, OSError, MemoryError, RuntimeError)):
        return Compiled(status=Status.UNKNOWN, message=_one_line(f"not compiled: {fault}"))
    if isinstance(error, PTXASError):
        match = _PTXAS_ERROR.search(str(error))
        sentence = match[1] if match else str(error)
        return Compiled(status=Status.REFUSED, message=_one_line(sentence), tuner_survives=True)
    if isinstance(error, CompilationError):
        sentence = _innermost_sentence(error)
        survives = isinstance(error, CompileTimeAssertionFailure)
        return Compiled(status=Status.REFUSED, message=_one_line(sentence), tuner_survives=survives)
    if isinstance(error, RuntimeError) and "PassManager" in str(error):
        return Compiled(status=Status.REFUSED, message=_one_line(f"Triton's compiler fails: {error}"))
    return Compiled(status=Status.UNKNOWN, message=_one_line(f"not compiled: {type(error).__name__}: {error}"))


def _innermost_sentence(error: BaseException) -> str:
    """What the line that is at fault says: the calls that lead to it each raise an error of their own, with no text."""
    sentence = ""
    link: BaseException | None = error
    while link is not None:
        sentence = str(getattr(link, "error_message", link) or "") or sentence
        link = link.__cause__
    return sentence or str(error)


def _source_class(function: Any) -> Any:
    if function.is_gluon():
        from triton.experimental.gluon._runtime import GluonASTSource

        return GluonASTSource
    from triton.compiler import ASTSource

    return ASTSource


def _as_tuples(kind: Any) -> Any:
    return tuple(_as_tuples(item) for item in kind) if isinstance(kind, list) else kind


def _one_line(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
