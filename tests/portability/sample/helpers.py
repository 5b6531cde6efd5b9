"""What the sample kernels call, in a module of its own."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,import-not-found"
# Triton has no types, its parameters are not Python's, and this folder is put on the path when it is used.

from __future__ import annotations

import triton
import triton.language as tl

FACTOR = tl.constexpr(3)


@triton.jit
def times_factor(value):
    return value * FACTOR
