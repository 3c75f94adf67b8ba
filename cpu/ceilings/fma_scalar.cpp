/// The rate of scalar fused multiply-adds, on all threads: the roof over code that the compiler could not vectorise.
/// Intrinsics, since the compiler would make vectors out of plain C++.
/// Source: Williams, Waterman, Patterson: Roofline (2009), in-core ceilings.
#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu/ceilings/fma.hpp"

namespace rung {
namespace {

constexpr int kLanes = 1;

// The attribute, and not a compiler flag for the file: nothing but this function may use what the CPU may lack.
__attribute__((target("fma"))) void iterate(const float* x, const float* coefficients, float* y,
                                            std::int64_t iterations) {
  const __m128 a0 = _mm_set_ss(coefficients[0]), b0 = _mm_set_ss(coefficients[1]);
  const __m128 a1 = _mm_set_ss(coefficients[2]), b1 = _mm_set_ss(coefficients[3]);
  __m128 chain[kFmaRegisters];
#pragma GCC unroll 16
  for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm_load_ss(x + i * kLanes);
  for (; iterations > 0; iterations -= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm_fmadd_ss(chain[i], a0, b0);
#pragma GCC unroll 16
    for (int i = 0; i < kFmaRegisters; ++i) chain[i] = _mm_fmadd_ss(chain[i], a1, b1);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kFmaRegisters; ++i) _mm_store_ss(y + i * kLanes, chain[i]);
}

const bool added = add_kernel({
    .name = "cpu/fma/scalar",
    .order = 10,
    .title = "scalar FMA",
    .idea = "Ten chains of scalar multiply-adds per thread: what the units give to code that does not use SIMD.",
    .source = "Williams, Waterman, Patterson 2009, in-core ceilings",
    .ceiling = Ceiling{.label = "FMA scalar", .is_bandwidth = false},
    .refuse = [](const Params& p) { return refuse_fma(p, kLanes, __builtin_cpu_supports("fma"), "FMA"); },
    .sizes = [] { return fma_sizes(kLanes); },
    .run = [](const Call& call) { run_fma(call, kLanes, iterate); },
});

}  // namespace
}  // namespace rung
#endif
