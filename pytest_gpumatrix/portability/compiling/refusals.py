"""Whether a compiler's refusal is the kernel's, or that of the machine that compiles: then nothing is known."""

from __future__ import annotations

import re

_CUDA_13_BEGINS = 75  # the lowest architecture that CUDA 13 builds for. Source: CUDA 13.0 release notes
_UNKNOWN_ARCHITECTURE = re.compile(
    r"invalid value for --gpu-architecture"  # NVRTC
    r"|Value '(?:sm|compute)_\w+' is not defined for option 'gpu-(?:name|arch\w*)'"  # ptxas
    r"|(?:UNRECOGNIZED|UNSUPPORTED)_ARCH"  # nvJitLink
    r"|is not a recognized processor for this target"  # LLVM
    r"|Unsupported gpu architecture"
)
_MISSING_FILE = re.compile(r'(?:cannot|could not) open source file "([^"\n]{1,200})"')
_OLDER_THAN_ITS_PTX = re.compile(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'")
_USED_UP = re.compile(
    r"No space left on device|out of memory|OUT_OF_MEMORY|Cannot allocate memory|[Mm]emory allocation fail\w*"
    r"|bad_alloc|Disk quota exceeded|Too many open files|Could not open (?:in|out)put file",
)
_STOPPED = re.compile(r"failed with error code (-(?:2|9|15))\b")  # SIGINT, SIGKILL, SIGTERM: from outside


def fault_of_this_machine(text: str, arch: str) -> str | None:
    """Why what a compiler says, when it is asked to build for ``arch``, tells nothing of the kernel; else None."""
    if _UNKNOWN_ARCHITECTURE.search(text):
        return f"the compiler installed here does not build for {arch}: {_other_compiler(arch)}"
    if missing := _MISSING_FILE.search(text):
        return f"{missing[1]} is not found here: install what it belongs to, or run this where it is installed"
    if older := _OLDER_THAN_ITS_PTX.search(text):
        return f"it is PTX {older[1]}, and the assembler installed here reads up to {older[2]}: install a newer one"
    if used_up := _USED_UP.search(text):
        return f"this machine failed the compiler: {used_up[0]}"
    if stopped := _STOPPED.search(text):
        return f"the assembler was ended from outside (code {stopped[1]})"
    return None


def _other_compiler(arch: str) -> str:
    number = re.search(r"\d+", arch)
    if number is not None and int(number[0]) < _CUDA_13_BEGINS:
        return "one of CUDA 12 does (pip install 'cuda-core[cu12]')"
    return "a newer one may"
