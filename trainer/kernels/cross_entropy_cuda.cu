// Softcapped cross-entropy, forward and backward, one read of each logit.
//
// A row is shared by THREADS threads: one warp where the vocabulary is small (then a block holds ROWS rows), a whole
// block where it is large. Per row, with t_j = tanh(x_j / softcap) and z_j = softcap * t_j:
//
//   loss = log(sum_j exp(z_j)) - z_target
//   gradient_j = scale * (exp(z_j) / sum - [j == target]) * (1 - t_j^2)
//
// z_j <= softcap, so exp(z_j - softcap) cannot overflow and no pass for the maximum is needed. A row that fits in the
// registers is kept there as it was read; a longer one is read again, mostly from a cache.
//
// Set on the compiler's command line: LOGIT_FLOAT32 | LOGIT_FLOAT16 | LOGIT_BFLOAT16, VOCABULARY, THREADS, ROWS.

#if defined(LOGIT_FLOAT32)
typedef float Logit;
__device__ __forceinline__ float to_float(Logit x) { return x; }
__device__ __forceinline__ Logit to_logit(float x) { return x; }
__device__ __forceinline__ float hyperbolic_tangent(float x) { return tanhf(x); }
#elif defined(LOGIT_FLOAT16)
typedef unsigned short Logit;  // the bits; PTX spares us CUDA's headers, which a machine may not have
__device__ __forceinline__ float to_float(Logit x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
__device__ __forceinline__ Logit to_logit(float x) {
  Logit y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float hyperbolic_tangent(float x) { return tanhf(x); }
#elif defined(LOGIT_BFLOAT16)
typedef unsigned short Logit;
__device__ __forceinline__ float to_float(Logit x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }
__device__ __forceinline__ Logit to_logit(float x) {
  Logit y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));  // compute capability 8.0
  return y;
}
// One instruction, relative error 2^-11: finer than the 2^-9 with which bfloat16 holds the logit.
__device__ __forceinline__ float hyperbolic_tangent(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif

constexpr int WIDTH = VOCABULARY * sizeof(Logit) % 16 == 0 ? 16 / sizeof(Logit) : 1;  // logits per load
constexpr int VECTORS = VOCABULARY / WIDTH;
constexpr int STEPS = (VECTORS + THREADS - 1) / THREADS;  // loads per thread
constexpr bool HELD = STEPS * WIDTH * sizeof(Logit) <= 64;  // bytes of registers for the row; more would spill
constexpr int UNROLL = HELD ? STEPS : 2;
constexpr int WARPS = THREADS / 32;

struct alignas(WIDTH * sizeof(Logit)) Vector {
  Logit at[WIDTH];
};

struct Pair {
  float sum;     // of exp(z_j - softcap)
  float target;  // t_target: one thread has it, the others 0
};

// The sums over the THREADS threads of a row, for all of them.
__device__ Pair reduce(Pair mine) {
  for (int lane = 16; lane > 0; lane /= 2) {
    mine.sum += __shfl_xor_sync(0xffffffff, mine.sum, lane);
    mine.target += __shfl_xor_sync(0xffffffff, mine.target, lane);
  }
  if (WARPS == 1) return mine;
  __shared__ Pair of_warp[WARPS];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  Pair all = {0.f, 0.f};
  for (int warp = 0; warp < WARPS; ++warp) {
    all.sum += of_warp[warp].sum;
    all.target += of_warp[warp].target;
  }
  return all;
}

// logits, gradient: (rows, VOCABULARY), rows 16-byte aligned where WIDTH > 1; targets, losses: (rows,).
// gradient may be null.
extern "C" __global__ void __launch_bounds__(THREADS* ROWS)
    softcapped_cross_entropy(const Logit* __restrict__ logits, const long long* __restrict__ targets,
                             float* __restrict__ losses, Logit* __restrict__ gradient, long long rows, float softcap,
                             float scale) {
  const int lane = threadIdx.x % THREADS;
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / THREADS;
  if (row >= rows) return;  // whole rows leave, so that reduce() has all its threads
  const Vector* read = reinterpret_cast<const Vector*>(logits + row * VOCABULARY);
  const long long target = targets[row];
  const float inverse = 1.f / softcap;

  Vector held[HELD ? STEPS : 1];
  Pair mine = {0.f, 0.f};
#pragma unroll UNROLL
  for (int step = 0; step < STEPS; ++step) {
    const int index = step * THREADS + lane;
    if (index >= VECTORS) break;
    const Vector x = read[index];
    if (HELD) held[HELD ? step : 0] = x;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      const float t = hyperbolic_tangent(to_float(x.at[i]) * inverse);
      mine.sum += __expf(softcap * (t - 1.f));
      if (index * WIDTH + i == target) mine.target = t;
    }
  }
  const Pair row_of = reduce(mine);
  if (lane == 0) {
    const bool known = target >= 0 && target < VOCABULARY;
    losses[row] = known ? logf(row_of.sum) + softcap * (1.f - row_of.target) : __int_as_float(0x7fc00000);  // NaN
  }
  if (gradient == nullptr) return;

  Vector* write = reinterpret_cast<Vector*>(gradient + row * VOCABULARY);
  const float share = 1.f / row_of.sum;
#pragma unroll UNROLL
  for (int step = 0; step < STEPS; ++step) {
    const int index = step * THREADS + lane;
    if (index >= VECTORS) break;
    const Vector x = HELD ? held[HELD ? step : 0] : read[index];
    Vector out;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      const float t = hyperbolic_tangent(to_float(x.at[i]) * inverse);
      const float probability = __expf(softcap * (t - 1.f)) * share;
      const float hit = index * WIDTH + i == target ? 1.f : 0.f;
      out.at[i] = to_logit(scale * (probability - hit) * (1.f - t * t));
    }
    write[index] = out;
  }
}

// gradient: (count,) *= factor[0]. Reads and writes nothing where that is 1.
extern "C" __global__ void scale_in_place(Logit* gradient, const float* factor, long long count) {
  const float by = *factor;
  if (by == 1.f) return;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    gradient[i] = to_logit(to_float(gradient[i]) * by);
}
