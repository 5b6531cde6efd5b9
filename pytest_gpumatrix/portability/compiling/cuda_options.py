"""The options that a tape may choose for a compiler of CUDA C++. Runs in a compiling process only.

NVRTC reads and writes files by options, and prints what it reads in its errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_gpumatrix.portability.compiling.assembler_options import refused_assembler_option

# Fields of cuda-core's ProgramOptions that shape the code, with the form of their values.
_SWITCH = re.compile(r"True|False")
_NUMBER = re.compile(r"-?\d+")
_WORD = re.compile(r"[\w+.-]*")
_ONE_LINE = re.compile(r"[^\x00-\x1f\x7f]*")
_SWITCHES = (
    *("relocatable_device_code", "extensible_whole_program", "debug", "lineinfo", "device_code_optimize", "ftz"),
    *("prec_sqrt", "prec_div", "fma", "use_fast_math", "extra_device_vectorization", "link_time_optimization"),
    *("gen_opt_lto", "use_bundled_headers", "no_source_include", "builtin_move_forward", "builtin_initializer_list"),
    *("disable_warnings", "restrict", "device_as_default_execution_space", "device_int128", "device_float128"),
    *("fdevice_syntax_only", "minimal", "numba_debug"),
)
_TAKEN = {
    **dict.fromkeys(_SWITCHES, _SWITCH),
    **dict.fromkeys(("max_register_count", "diag_error", "diag_suppress", "diag_warn"), _NUMBER),
    **dict.fromkeys(("std", "ofast_compile", "frandom_seed"), _WORD),
    **dict.fromkeys(("define_macro", "undefine_macro", "include_path", "pre_include"), _ONE_LINE),
}
# They change messages, how long compiling takes, or which other files are written, and nothing of what is compiled.
_NO_MATTER = frozenset(
    {"name", "arch", "optimization_info", "no_display_error_number", "brief_diagnostics", "time", "split_compile"}
    | {"no_cache", "fdevice_time_trace", "pch", "create_pch", "use_pch", "pch_dir", "pch_verbose", "pch_messages"}
    | {"instantiate_templates_in_pch"}
)


class RefusedOptionError(Exception):
    """An option is not taken from a tape; the message says which."""


def taken_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that matter. RefusedOptionError for one that is not known to shape code alone.

    Where ``include_path`` and ``pre_include`` lead is looked at in ``cuda_includes``.
    """
    taken = {name: value for name, value in options.items() if name not in _NO_MATTER and value is not None}
    for name, value in taken.items():
        if name == "ptxas_options":
            refused = next(filter(None, map(refused_assembler_option, texts(value))), None)
            if refused is not None:
                raise RefusedOptionError(f"{refused[:60]} of {name} is not taken from a tape")
        elif name not in _TAKEN or not all(_TAKEN[name].fullmatch(text) for text in texts(value)):
            raise RefusedOptionError(f"the option {name} is not taken from a tape")
    return taken


def texts(value: Any) -> list[str]:
    """A value, or all that a tuple or a list of them holds, as text."""
    if isinstance(value, (tuple, list)):
        return [text for item in value for text in texts(item)]
    return [] if value is None else [str(value)]
