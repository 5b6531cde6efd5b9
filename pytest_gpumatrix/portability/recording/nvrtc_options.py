"""NVRTC's options as a command line -> the ProgramOptions of cuda-core, which compiling takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

# Source: NVRTC documentation, "Supported Compile Options". A flag is true by itself, or takes {true|false}.
_FLAGS = {
    "relocatable-device-code": "relocatable_device_code",
    "rdc": "relocatable_device_code",
    "extensible-whole-program": "extensible_whole_program",
    "ewp": "extensible_whole_program",
    "device-debug": "debug",
    "G": "debug",
    "generate-line-info": "lineinfo",
    "lineinfo": "lineinfo",
    "ftz": "ftz",
    "prec-sqrt": "prec_sqrt",
    "prec-div": "prec_div",
    "fmad": "fma",
    "use_fast_math": "use_fast_math",
    "extra-device-vectorization": "extra_device_vectorization",
    "extra-vectorization": "extra_device_vectorization",
    "no-source-include": "no_source_include",
    "builtin-move-forward": "builtin_move_forward",
    "builtin-initializer-list": "builtin_initializer_list",
    "disable-warnings": "disable_warnings",
    "w": "disable_warnings",
    "restrict": "restrict",
    "device-as-default-execution-space": "device_as_default_execution_space",
    "default-device": "device_as_default_execution_space",
    "device-int128": "device_int128",
    "device-float128": "device_float128",
    "minimal": "minimal",
}
_LISTS = {
    "define-macro": "define_macro",
    "D": "define_macro",
    "undefine-macro": "undefine_macro",
    "U": "undefine_macro",
    "include-path": "include_path",
    "I": "include_path",
    "pre-include": "pre_include",
    "include": "pre_include",
    "ptxas-options": "ptxas_options",
    "Xptxas": "ptxas_options",
    "diag-error": "diag_error",
    "diag-suppress": "diag_suppress",
    "diag-warn": "diag_warn",
}
_VALUES = {"std": "std", "maxrregcount": "max_register_count"}
_ARCHITECTURE = frozenset({"gpu-architecture", "arch"})
# They change messages, how long compiling takes, or how a cache is kept, and nothing of what is compiled.
_NO_MATTER = frozenset(
    {
        "optimization-info",
        "opt-info",
        "display-error-number",
        "err-no",
        "no-display-error-number",
        "no-err-no",
        "brief-diagnostics",
        "brief-diag",
        "time",
        "split-compile",
        "fdevice-time-trace",
        "pch",
        "create-pch",
        "use-pch",
        "pch-dir",
        "pch-verbose",
        "pch-messages",
        "instantiate-templates-in-pch",
        "no-cache",
        "DCUPY_USE_JITIFY",
    }
)
_ATTACHED = re.compile(r"-([DUI])(.+)", re.DOTALL)  # -DNAME=1
_NAMED = re.compile(r"--?([^=]+)(?:=(.*))?", re.DOTALL)  # --define-macro=NAME=1


def program_options(options: Iterable[str]) -> tuple[dict[str, Any], str | None]:
    """The ProgramOptions without the architecture, and the first option that has no such form."""
    found: dict[str, Any] = {}
    unknown: str | None = None
    for name, value in _pairs(iter(options)):
        if name in _LISTS:
            entry = tuple(value.split("=", 1)) if _LISTS[name] == "define_macro" and "=" in value else value
            found.setdefault(_LISTS[name], []).append(entry)
        elif name in _FLAGS:
            found[_FLAGS[name]] = value != "false"
        elif name in _VALUES:
            found[_VALUES[name]] = int(value) if value.isdigit() else value
        elif name not in _ARCHITECTURE | _NO_MATTER:
            unknown = unknown or f"option -{name}{'=' + value if value else ''}"
    return found, unknown


def _pairs(options: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Names with their values: "-DNAME=1", "--define-macro=NAME=1" and "--define-macro NAME=1" are one."""
    for option in options:
        attached = _ATTACHED.fullmatch(option)
        if attached is not None and option.lstrip("-") not in _NO_MATTER:
            yield attached[1], attached[2].strip()
            continue
        named = _NAMED.fullmatch(option.strip())
        if named is None:
            yield option, ""
            continue
        name, value = named[1], named[2]
        if value is None and name in _LISTS.keys() | _VALUES.keys() | _ARCHITECTURE:
            value = next(options, "")
        yield name, value or ""
