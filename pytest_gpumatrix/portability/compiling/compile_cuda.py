"""Compiles a recorded CUDA C++ program for an architecture. Runs in a compiling process only."""

from __future__ import annotations

import dataclasses
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_gpumatrix.hardware.binary import Binary
from pytest_gpumatrix.portability.compiling.compile_job import Compiled, Status
from pytest_gpumatrix.portability.compiling.cuda_includes import Includes
from pytest_gpumatrix.portability.compiling.cuda_options import RefusedOptionError, taken_options, texts
from pytest_gpumatrix.portability.compiling.read_figures import read_figures
from pytest_gpumatrix.portability.compiling.refusals import fault_of_this_machine
from pytest_gpumatrix.portability.tape.launch import CudaProgram
from pytest_gpumatrix.portability.tape.values import decode

_ASSEMBLER_ERROR = re.compile(r"\bptxas(?:-\w+)? .*?(?:error|fatal)\s*: *(\S.*)$", re.MULTILINE)
_ANY_ERROR = re.compile(r"^.*\berror\b.*$", re.MULTILINE)
_Code = tuple[Any, str, "str | None"]  # machine code, the assembler's report, and the PTX where it is known
_REFUSES = ("NVRTC_ERROR_COMPILATION", "ERROR_PTX_COMPILE", "NVVM_ERROR_COMPILATION")  # others: of how it was asked


def compile_cuda(program: CudaProgram, arch: str, rootdir: Path, started: Callable[[], None]) -> Compiled:
    """Compile to machine code for "sm_86", "sm_90a" and the like; needs no GPU and no driver.

    A program of PTX for a fixed architecture that the device takes is translated from it, as its driver would. The
    assembler itself holds static shared memory against its limit (48 KiB on every architecture). A tape may come from
    anybody: what would read or write other files is not compiled.
    """
    core = _cuda_core()
    includes = Includes(rootdir, os.environ, sys.path)
    try:
        options = taken_options({name: decode(value, _no_functions) for name, value in program.options.items()})
    except RefusedOptionError as refusal:
        return _not_compiled(str(refusal))
    folders, files = texts(options.get("include_path")), texts(options.get("pre_include"))
    if refused := includes.objection(program.source, program.name_expressions, folders, files):
        return _not_compiled(refused)
    started()
    try:
        if program.code_type == "ptx":
            code, report, ptx = _assembled(core, program.source, arch, options)
        elif _is_translated_for(program, arch):
            _, _, ptx = _compiled(core, program, Binary.parse(program.arch, ptx=True).sm, options)
            code, report, ptx = _assembled(core, ptx or "", arch, {})
        else:
            code, report, ptx = _compiled(core, program, arch, options)
    except Exception as error:  # noqa: BLE001 - cuda-core has no public class for the compiler's refusal
        return _refusal(error, arch, includes)
    return Compiled(
        status=Status.COMPILED,
        kernels=read_figures(code, Binary.parse(arch, ptx=False).capability, report, ptx),
    )


def _is_translated_for(program: CudaProgram, arch: str) -> bool:
    if program.target_type != "ptx" or program.follows_device:
        return False
    wanted = Binary.parse(arch, ptx=False).capability
    return Binary.parse(program.arch, ptx=True).refusal(wanted) is None


def _compiled(core: Any, program: CudaProgram, arch: str, options: Mapping[str, Any]) -> _Code:
    """Made by cuda-core, as it was where it was recorded, but to machine code: for PTX it would ask for a driver."""
    reporting = _with_report(options.get("ptxas_options"))
    name = os.path.basename(program.name) or "program"  # noqa: PTH119 - no path: NVRTC includes from beside it
    fields = {**options, "name": name, "arch": arch, "ptxas_options": reporting}
    prepared = core.Program(program.source, program.code_type, core.ProgramOptions(**fields))
    report = io.StringIO()
    code = prepared.compile("cubin", program.name_expressions, logs=report).code
    return code, report.getvalue(), _ptx_of(prepared)


def _assembled(core: Any, ptx: str, arch: str, options: Mapping[str, Any]) -> _Code:
    """Made of PTX. Of a program's options those hold that the linker has too."""
    known = {field.name for field in dataclasses.fields(core.LinkerOptions)} - {"name", "arch", "verbose"}
    fields = {name: value for name, value in options.items() if name in known}
    fields["ptxas_options"] = _with_report(options.get("ptxas_options"))
    linker = core.Linker(
        core.ObjectCode.from_ptx(ptx.encode()), options=core.LinkerOptions(arch=arch, verbose=True, **fields)
    )
    return linker.link("cubin").code, linker.get_info_log(), ptx


def _with_report(given: Any) -> list[str]:
    return [*([given] if isinstance(given, str) else given or ()), "-v"]


def _ptx_of(prepared: Any) -> str | None:
    """What NVRTC gave its own assembler; None where it was made in another way."""
    if prepared.backend != "NVRTC":
        return None
    from cuda.bindings import nvrtc

    handle = prepared.handle
    status, size = nvrtc.nvrtcGetPTXSize(handle)
    text = b" " * size if status == nvrtc.nvrtcResult.NVRTC_SUCCESS else b""
    if not text or nvrtc.nvrtcGetPTX(handle, text)[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        return None
    return _text(text)


def _text(code: Any) -> str:
    return bytes(code).rstrip(b"\0").decode(errors="replace")


def _refusal(error: Exception, arch: str, includes: Includes) -> Compiled:
    log = str(error).replace("\0", "")
    if includes.conceals(log):
        return _not_compiled("a header includes a file that is no header")
    fault = fault_of_this_machine(log, arch)
    if fault is None and type(error).__name__ in ("NVRTCError", "nvJitLinkError") and any(x in log for x in _REFUSES):
        return Compiled(status=Status.REFUSED, message=_sentence(log))
    what = fault or f"{type(error).__name__}: {' '.join(log.split())}"
    return _not_compiled(what)


def _not_compiled(why: str) -> Compiled:
    return Compiled(status=Status.UNKNOWN, message=f"not compiled: {' '.join(why.split())}"[:300])


def _cuda_core() -> Any:
    try:
        return importlib.import_module("cuda.core")
    except ImportError:
        return importlib.import_module("cuda.core.experimental")  # where it was before 0.5


def _sentence(log: str) -> str:
    match = _ASSEMBLER_ERROR.search(log)
    if match is not None:
        return match[1].strip()[:300]
    first = _ANY_ERROR.search(log)
    return " ".join((first[0] if first else log).split())[:300]


def _no_functions(_: Any) -> Any:
    raise ValueError("a CUDA program has no functions among its options")
