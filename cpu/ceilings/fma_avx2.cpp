/// The rate of 8-wide fused multiply-adds, on all threads: the roof of a CPU with AVX2.
/// Source: Williams, Waterman, Patterson: Roofline (2009), in-core ceilings.
#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu/ceilings/fma.hpp"

namespace rung {
namespace {

constexpr int kLanes = 8;

// The attribute, and not a compiler flag for the file: nothing but this function may use what the CPU may lack.
__attribute__((target("avx2,fma"))) void iterate(const float* x, const float* coefficients, float* y,
                                                 std::int64_t iterations) {
  const __m256 a0 = _mm256_set1_ps(coefficients[0]), b0 = _mm256_set1_ps(coefficients[1]);
  const __m256 a1 = _mm256_set1_ps(coefficients[2]), b1 = _mm256_set1_ps(coefficients[3]);
  __m256 chain[kFmaRegisters];
#pragma GCC unroll 16
  for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm256_loadu_ps(x + i * kLanes);
  for (; iterations > 0; iterations -= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm256_fmadd_ps(chain[i], a0, b0);
#pragma GCC unroll 16
    for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm256_fmadd_ps(chain[i], a1, b1);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kFmaRegisters; ++i) _mm256_storeu_ps(y + i * kLanes, chain[i]);
}

const bool added = add_kernel({
    .name = "cpu/fma/avx2",
    .order = 20,
    .title = "AVX2 FMA",
    .idea = "Ten chains of 8-wide multiply-adds per thread: the peak of a CPU with AVX2.",
    .source = "Williams, Waterman, Patterson 2009, in-core ceilings",
    .ceiling = Ceiling{.label = "FMA AVX2", .is_bandwidth = false},
    .refuse =
        [](const Params& p) {
          return refuse_fma(p, kLanes, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), "AVX2");
        },
    .sizes = [] { return fma_sizes(kLanes); },
    .run = [](const Call& call) { run_fma(call, kLanes, iterate); },
});

}  // namespace
}  // namespace rung
#endif
