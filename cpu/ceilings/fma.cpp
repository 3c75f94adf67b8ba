/// The rate of fused multiply-adds on all threads, once for each width of register that the CPU may have: scalar code
/// is held down by the first, what the compiler makes vectors of by one of the others.
/// Each thread iterates groups of chains that just fill the registers. An FMA has a latency of 4 or 5 cycles and a core
/// starts up to two a cycle, so 10 independent ones keep the units busy.
/// A thread takes the next group when it is done with one: in equal shares all would wait for the slowest core, and a
/// roof must say what all of them can do.
/// Source: Williams, Waterman, Patterson: Roofline (2009), in-core ceilings.
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#include <omp.h>

#include "common/machine/cpu_info.hpp"
#include "common/problem/fma.hpp"

namespace rung {
namespace {

/// Registers of chains in a group: with the 4 coefficients they fit the 16 that AVX2 has.
constexpr int kRegisters = 10;

/// Iterates one group of kRegisters x lanes chains: the two steps in turn, `iterations` in all; see the problem.
using Group = void (*)(const float* x, const float* coefficients, float* y, std::int64_t iterations);

// A macro and not a template: an attribute takes no template's argument. The attribute, and not a compiler flag for the
// file: nothing but these functions may use what the CPU may lack. Intrinsics, since the compiler would make vectors
// out of scalar C++. LOAD, SPLAT, FMA (x a + b) and STORE work on a VECTOR.
#define RUNG_FMA_GROUP(NAME, LANES, ATTRIBUTE, VECTOR, LOAD, SPLAT, FMA, STORE)                       \
  ATTRIBUTE void NAME(const float* x, const float* coefficients, float* y, std::int64_t iterations) { \
    const VECTOR a0 = SPLAT(coefficients[0]), b0 = SPLAT(coefficients[1]);                            \
    const VECTOR a1 = SPLAT(coefficients[2]), b1 = SPLAT(coefficients[3]);                            \
    VECTOR chain[kRegisters];                                                                         \
    _Pragma("GCC unroll 16") for (int i = 0; i < kRegisters; ++i) chain[i] = LOAD(x + i * LANES);     \
    for (; iterations > 0; iterations -= 2) {                                                         \
      _Pragma("GCC unroll 16") for (int i = 0; i < kRegisters; ++i) chain[i] = FMA(chain[i], a0, b0); \
      _Pragma("GCC unroll 16") for (int i = 0; i < kRegisters; ++i) chain[i] = FMA(chain[i], a1, b1); \
    }                                                                                                 \
    _Pragma("GCC unroll 16") for (int i = 0; i < kRegisters; ++i) STORE(y + i * LANES, chain[i]);     \
  }

/// Runs all groups of kRegisters x `lanes` chains.
void run_groups(const Call& call, int lanes, Group iterate) {
  const auto *x = call.operand<const float>(0), *coefficients = call.operand<const float>(1);
  auto* y = call.operand<float>(2);
  const std::int64_t chains = call.params.at("chains"), iterations = call.params.at("iterations");
  const std::int64_t group = kRegisters * lanes;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t first = 0; first < chains; first += group) iterate(x + first, coefficients, y + first, iterations);
}

struct Width {
  int order, lanes;
  std::string variant, name;
  std::string instructions;  ///< what the CPU must have, for a refusal
  bool is_supported;
  Group iterate;
};

bool add_width(const Width& width) {
  return add_kernel({
      .name = "cpu/fma/" + width.variant,
      .order = width.order,
      .title = width.name + " FMA",
      .idea = width.lanes == 1
                  ? "Ten chains of scalar multiply-adds per thread: what the units give to code without SIMD."
                  : "Ten chains of " + std::to_string(width.lanes) +
                        "-wide multiply-adds per thread: the peak of code with such registers.",
      .source = {{"williams2009", "in-core ceilings"}},
      .ceiling = Ceiling{.label = "FMA " + width.name, .is_bandwidth = false},
      .refuse = [width](const Params& p) -> std::string {
        if (!width.is_supported) return "this CPU has no " + width.instructions + " (it has " + cpu_info().simd + ")";
        const int group = kRegisters * width.lanes;
        return p.at("chains") % group == 0 ? "" : "chains must be a multiple of " + std::to_string(group);
      },
      .sizes =
          [width] {  // 32 groups for each thread, together iterated for about a millisecond
            return Params{{"chains", std::int64_t{omp_get_max_threads()} * 32 * kRegisters * width.lanes},
                          {"iterations", std::int64_t{1} << 14}};
          },
      .run = [width](const Call& call) { run_groups(call, width.lanes, width.iterate); },
  });
}

#if defined(__x86_64__)
RUNG_FMA_GROUP(scalar, 1, __attribute__((target("fma"))), __m128, _mm_load_ss, _mm_set_ss, _mm_fmadd_ss, _mm_store_ss)
RUNG_FMA_GROUP(avx128, 4, __attribute__((target("fma"))), __m128, _mm_loadu_ps, _mm_set1_ps, _mm_fmadd_ps,
               _mm_storeu_ps)
RUNG_FMA_GROUP(avx2, 8, __attribute__((target("avx2,fma"))), __m256, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps,
               _mm256_storeu_ps)
RUNG_FMA_GROUP(avx512, 16, __attribute__((target("avx512f"))), __m512, _mm512_loadu_ps, _mm512_set1_ps, _mm512_fmadd_ps,
               _mm512_storeu_ps)

const bool has_fma = __builtin_cpu_supports("fma"), has_avx2 = __builtin_cpu_supports("avx2") && has_fma;
const bool added = add_width({10, 1, "scalar", "scalar", "FMA", has_fma, scalar}) &&
                   add_width({15, 4, "avx128", "128-bit", "FMA", has_fma, avx128}) &&
                   add_width({20, 8, "avx2", "AVX2", "AVX2", has_avx2, avx2}) &&
                   add_width({30, 16, "avx512", "AVX-512", "AVX-512", bool(__builtin_cpu_supports("avx512f")), avx512});
#elif defined(__aarch64__)
// NEON adds to a register that it overwrites, so b is copied for each step: the peak where moves take no unit's time.
float32x4_t neon_fma(float32x4_t x, float32x4_t a, float32x4_t b) { return vfmaq_f32(b, x, a); }
float scalar_fma(float x, float a, float b) {
  float sum = __builtin_fmaf(x, a, b);
  asm("" : "+w"(sum));  // a scalar for itself: no vectors out of ten of them
  return sum;
}
float first_of(const float* x) { return *x; }
void put(float* y, float value) { *y = value; }

RUNG_FMA_GROUP(scalar, 1, , float, first_of, float, scalar_fma, put)
RUNG_FMA_GROUP(neon, 4, , float32x4_t, vld1q_f32, vdupq_n_f32, neon_fma, vst1q_f32)

const bool added = add_width({10, 1, "scalar", "scalar", "FMA", true, scalar}) &&
                   add_width({15, 4, "neon", "NEON", "NEON", true, neon});
#endif

#undef RUNG_FMA_GROUP

}  // namespace
}  // namespace rung
