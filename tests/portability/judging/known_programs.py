"""CUDA C++ of which it is known what GPUs make of it. It needs no header: the toolkit may not be there."""

from __future__ import annotations

KERNEL = 'extern "C" __global__ void kernel(float *x, int n) {{ {} }}'

E5M2 = KERNEL.format(
    'unsigned short r; asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(x[0]), "f"(x[1])); x[2] = r;'
)
SETMAXNREG = KERNEL.format('asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); x[0] = 1;')
PLAIN = KERNEL.format("x[0] = 1;")
# A pair of bf16 in 32 bits, added to memory as cuda_bf16.h does it: by one instruction from 9.0 on.
ADD_PAIR = KERNEL.format(
    """
    unsigned *at = (unsigned *)x + threadIdx.x, old, pair = 0x3f803f80u;
    #if __CUDA_ARCH__ >= 900
    asm volatile("atom.global.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(pair) : "memory");
    #else
    unsigned assumed;
    old = *at;
    do {
        assumed = old;
        float low = __uint_as_float(assumed << 16) + 1.0f, high = __uint_as_float(assumed & 0xffff0000u) + 1.0f;
        unsigned sum = (__float_as_uint(low) >> 16) | (__float_as_uint(high) & 0xffff0000u);
        old = atomicCAS(at, assumed, sum);
    } while (old != assumed);
    #endif
    """
)
# One bf16 in 16 bits: PTX has an instruction for it from 9.0 on, and the assembler makes a loop of it everywhere.
ADD_ONE = KERNEL.format(
    """
    unsigned short *at = (unsigned short *)x + threadIdx.x;
    #if __CUDA_ARCH__ >= 900
    unsigned short old;
    asm volatile("atom.global.add.noftz.bf16 %0, [%1], %2;" : "=h"(old) : "l"(at), "h"((unsigned short)n) : "memory");
    #else
    unsigned short old = *at, assumed;
    do {
        assumed = old;
        unsigned short sum = __float_as_uint(__uint_as_float((unsigned)assumed << 16) + n) >> 16;
        old = atomicCAS(at, assumed, sum);
    } while (old != assumed);
    #endif
    """
)
CLUSTER = 'extern "C" __global__ void __cluster_dims__(4, 1, 1) kernel(float *x, int n) { x[0] = 1; }'
BOUNDED = 'extern "C" __global__ void __launch_bounds__(512) kernel(float *x, int n) { x[0] = 1; }'
