"""The options of a launch that a tape may choose for Triton's compiler. Runs in a compiling process only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_gpumatrix.portability.compiling.assembler_options import refused_assembler_option

# Fields of CUDAOptions, of triton 3.2 to 3.7, that shape the code. The others name files (ir_override, extern_libs),
# or load what instruments the code.
_TAKEN = frozenset(
    {
        "num_warps",
        "num_ctas",
        "num_stages",
        "warp_size",
        "maxnreg",
        "ptx_version",
        "cluster_dims",
        "num_buffers_warp_spec",
    }
    | {"num_consumer_groups", "reg_dec_producer", "reg_inc_consumer", "enable_fp_fusion", "enable_reflect_ftz"}
    | {"launch_cooperative_grid", "launch_pdl", "supported_fp8_dtypes", "deprecated_fp8_dtypes"}
    | {"deprecated_fp8_dot_operand_dtypes", "default_dot_input_precision", "allowed_dot_input_precisions"}
    | {"max_num_imprecise_acc_default", "debug", "sanitize_overflow"}
)
_ASSEMBLERS, _LIBRARIES = "ptx_options", "extern_libs"


def refused_option(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> str | None:
    """Why an option is not taken; None if all are.

    ``defaults`` are all options of this Triton: one that it does not know is its own business.
    """
    for name, value in options.items():
        if name not in defaults or value is None or (type(value) is type(defaults[name]) and value == defaults[name]):
            continue
        if name == _ASSEMBLERS and isinstance(value, str):
            if refused := refused_assembler_option(value):
                return f"{refused[:60]} of {name} is not taken from a tape"
        elif name == _LIBRARIES and isinstance(value, dict):
            if other := next((file for file in value.values() if not _is_tritons(file)), None):
                return f"{name} names {str(other)[:120]}, and only Triton's own libraries are taken from a tape"
        elif name not in _TAKEN or not _is_plain(value):
            return f"the option {name} is not taken from a tape"
    return None


def _is_tritons(file: Any) -> bool:
    import triton

    folder = Path(triton.__file__).resolve().parent
    return isinstance(file, str) and "\0" not in file and Path(file).resolve().is_relative_to(folder)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(_is_plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str)
