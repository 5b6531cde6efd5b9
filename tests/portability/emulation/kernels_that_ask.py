"""Kernels that ask which GPU they are for. Triton keeps what it compiled in the function, so each test has its own."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import triton
import triton.language as tl
from triton.language import target_info


@triton.jit
def ask_while_posing(out):
    if target_info.cuda_capability_geq(9, 0):
        tl.store(out, 90)
    else:
        tl.store(out, 80)


@triton.jit
def ask_natively(out):
    if target_info.cuda_capability_geq(9, 0):
        tl.store(out, 90)
    else:
        tl.store(out, 80)
