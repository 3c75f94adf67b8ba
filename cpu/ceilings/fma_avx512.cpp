/// The rate of 16-wide fused multiply-adds, on all threads: the roof of a CPU with AVX-512.
/// Source: Williams, Waterman, Patterson: Roofline (2009), in-core ceilings.
#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu/ceilings/fma.hpp"

namespace rung {
namespace {

constexpr int kLanes = 16;

// The attribute, and not a compiler flag for the file: nothing but this function may use what the CPU may lack.
__attribute__((target("avx512f"))) void iterate(const float* x, const float* coefficients, float* y,
                                                std::int64_t iterations) {
  const __m512 a0 = _mm512_set1_ps(coefficients[0]), b0 = _mm512_set1_ps(coefficients[1]);
  const __m512 a1 = _mm512_set1_ps(coefficients[2]), b1 = _mm512_set1_ps(coefficients[3]);
  __m512 chain[kFmaRegisters];
#pragma GCC unroll 16
  for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm512_loadu_ps(x + i * kLanes);
  for (; iterations > 0; iterations -= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm512_fmadd_ps(chain[i], a0, b0);
#pragma GCC unroll 16
    for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm512_fmadd_ps(chain[i], a1, b1);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kFmaRegisters; ++i) _mm512_storeu_ps(y + i * kLanes, chain[i]);
}

const bool added = add_kernel({
    .name = "cpu/fma/avx512",
    .order = 30,
    .title = "AVX-512 FMA",
    .idea = "Ten chains of 16-wide multiply-adds per thread: the peak of a CPU with AVX-512.",
    .source = "Williams, Waterman, Patterson 2009, in-core ceilings",
    .ceiling = Ceiling{.label = "FMA AVX-512", .is_bandwidth = false},
    .refuse = [](const Params& p) { return refuse_fma(p, kLanes, __builtin_cpu_supports("avx512f"), "AVX-512"); },
    .sizes = [] { return fma_sizes(kLanes); },
    .run = [](const Call& call) { run_fma(call, kLanes, iterate); },
});

}  // namespace
}  // namespace rung
#endif
