"""CUDA programs that are compiled through cuda-core; a test's name is the function's."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,attr-defined"

from __future__ import annotations

import contextlib

from cuda.core import Program, ProgramOptions

SOURCE = """extern "C" __global__ void kernel(float *x, unsigned short *out) { %s }"""
E5M2 = """unsigned short r;
asm("cvt.rn.satfinite.e5m2x2.f32 %%0, %%1, %%2;" : "=h"(r) : "f"(x[0]), "f"(x[1])); out[0] = r;""".replace("%%", "%")
SETMAXNREG = """asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); x[0] = 1;"""


def _compile(body, arch, target="cubin", **options):
    return Program(SOURCE % body, "c++", ProgramOptions(arch=arch, **options)).compile(target)


def e5m2_for_90():
    _compile(E5M2, "sm_90")


def plain_for_90():
    _compile("x[0] = VALUE;", "sm_90", define_macro=[("VALUE", "2"), "UNUSED"], std="c++17")


def plain_for_80():
    _compile("x[0] = 1;", "sm_80")


def setmaxnreg_for_90a():
    _compile(SETMAXNREG, "sm_90a")


def setmaxnreg_for_90():
    with contextlib.suppress(Exception):  # the compiler refuses it; a test that expects so passes
        _compile(SETMAXNREG, "sm_90")


def too_much_static():
    with contextlib.suppress(Exception):
        _compile("__shared__ float s[20000]; s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[(int)x[2]];", "sm_90")
