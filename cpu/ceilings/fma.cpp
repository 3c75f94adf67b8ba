/// The rate of fused multiply-adds on all threads, once for each register width that the CPU may have: the first is the
/// limit of scalar code, the others of vectorised code.
/// Each thread iterates groups of chains that just fill the registers. An FMA has a latency of 4 or 5 cycles and a core
/// starts up to two per cycle, so 10 independent FMAs keep the units busy.
/// Groups are scheduled dynamically: with equal shares all threads would wait for the slowest core, and a roof must
/// state what all of them can achieve together. Source: Williams, Waterman, Patterson: Roofline (2009), in-core
/// ceilings.
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#include <omp.h>

#include "common/machine/cpu_info.hpp"
#include "common/problem/fma.hpp"
#include "cpu/simd_widths.hpp"

namespace rung {
namespace {

/// Registers of chains in a group: together with the 4 coefficients they fit the 16 registers of AVX2.
constexpr int kRegisters = 10;

/// Iterates a group of kRegisters x lanes chains: two alternating steps, `iterations` in all; see the problem.
using Group = void (*)(const float* x, const float* coefficients, float* y, std::int64_t iterations);

// A macro, since an attribute cannot depend on a template argument. An attribute instead of a compiler flag for the
// file, since only these functions may use instructions that the CPU may lack. Intrinsics, since the compiler would
// vectorise scalar C++. LOAD, SPLAT, FMA (x a + b) and STORE operate on a VECTOR.
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
  std::string instructions;  ///< that the CPU must have
  bool is_supported;
  Group iterate;
};

bool add_width(const Width& width) {
  return add_kernel({
      .name = "cpu/fma/" + width.variant,
      .order = width.order,
      .title = width.name + " FMA",
      .idea = width.lanes == 1 ? "Ten chains of scalar multiply-adds per thread: the peak of code without SIMD."
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

/// A width of the table, by the name of its instruction set.
Width simd(int order, std::string_view name, const std::string& variant, bool is_supported, Group iterate) {
  const std::string text(name);
  return {order, simd_width_of(name).lanes(), variant, text, text, is_supported, iterate};
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
                   add_width(simd(20, "AVX2", "avx2", has_avx2, avx2)) &&
                   add_width(simd(30, "AVX-512", "avx512", __builtin_cpu_supports("avx512f"), avx512));
#elif defined(__aarch64__)
// NEON's FMA overwrites its addend, so b is copied in each step: the peak only if moves are free.
float32x4_t neon_fma(float32x4_t x, float32x4_t a, float32x4_t b) { return vfmaq_f32(b, x, a); }
float scalar_fma(float x, float a, float b) {
  float sum = __builtin_fmaf(x, a, b);
  asm("" : "+w"(sum));  // prevents vectorisation of the ten chains
  return sum;
}
float first_of(const float* x) { return *x; }
void put(float* y, float value) { *y = value; }

RUNG_FMA_GROUP(scalar, 1, , float, first_of, float, scalar_fma, put)
RUNG_FMA_GROUP(neon, 4, , float32x4_t, vld1q_f32, vdupq_n_f32, neon_fma, vst1q_f32)

const bool added =
    add_width({10, 1, "scalar", "scalar", "FMA", true, scalar}) && add_width(simd(15, "NEON", "neon", true, neon));
#endif

#undef RUNG_FMA_GROUP

}  // namespace
}  // namespace rung
