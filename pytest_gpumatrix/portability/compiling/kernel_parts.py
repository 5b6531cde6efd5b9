"""What a kernel may be made of: parts of Triton and of Inductor's helpers. Runs in a compiling process only."""

from __future__ import annotations

import functools
from types import FunctionType, ModuleType
from typing import Any

TRITON_HELPERS = "torch._inductor.runtime.triton_helpers"
# What a value in a kernel may be asked for, beside the methods of Triton's own types.
VALUE_ATTRIBUTES = frozenset(
    {"shape", "dtype", "type", "value", "element_ty", "scalar", "numel", "T"}
    | {"block_shape", "base", "strides", "name", "primitive_bitwidth", "int_bitwidth", "itemsize"}
)


def is_kernel_part(found: Any) -> bool:
    """Whether a kernel may use what an import, or an attribute of a module, leads to."""
    from triton.language.core import constexpr, dtype, is_builtin
    from triton.runtime.jit import JITCallable

    if isinstance(found, ModuleType):
        return found.__name__ in ("triton", TRITON_HELPERS) or f"{found.__name__}.".startswith("triton.language.")
    if isinstance(found, (bool, int, float, str, dtype, constexpr, JITCallable)) or is_builtin(found):
        return True
    if isinstance(found, FunctionType):  # empty, in the place of the target's own
        return found.__module__ == "triton.language.extra.libdevice"
    return isinstance(found, type) and found.__module__.startswith("triton.language.")


def is_constexpr(found: Any) -> bool:
    """Whether it is ``tl.constexpr``."""
    import triton.language as tl

    return found is tl.constexpr


@functools.lru_cache(maxsize=1)
def value_methods() -> frozenset[str]:
    """The public methods of values in a kernel."""
    import triton.language as tl

    kinds = (tl.tensor, tl.constexpr, tl.dtype, tl.tuple, getattr(tl, "tensor_descriptor", tl.tensor))
    return frozenset(name for kind in kinds for name in dir(kind) if not name.startswith("_"))
