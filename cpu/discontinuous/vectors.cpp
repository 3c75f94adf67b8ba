/// No branch: both results for a register of elements at a time, with the vector sine of the C library, and a choice of
/// one by the sign. There is nothing to predict, so the signs' order does not matter.
#include <algorithm>
#include <cmath>

#include "common/problem/discontinuous.hpp"
#include "common/registry.hpp"

// Other compilers declare vector variants differently; without one, the loop calls the scalar sine.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
extern "C" {
#pragma omp declare simd notinbranch
float sinf(float) noexcept;
}
#endif

namespace rung {
namespace {

/// Elements that are processed together: many vectors, but few enough for the L1 cache.
constexpr std::int64_t kBlock = 256;

/// Evaluates `count` elements; if there are fewer than kBlock, the rest is evaluated in vain.
void evaluate_block(const float* a, const float* b, float* c, std::int64_t count, std::int64_t passes) {
  alignas(64) float at[kBlock] = {}, with[kBlock] = {}, sum[kBlock] = {}, wave[kBlock];
  std::copy_n(a, count, at);
  std::copy_n(b, count, with);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
#pragma omp simd
    for (std::int64_t i = 0; i < kBlock; ++i) wave[i] = sinf(at[i]);  // a separate loop, or it is put behind a branch
#pragma omp simd
    for (std::int64_t i = 0; i < kBlock; ++i) {
      const float doubled = 2 * at[i], other = wave[i] + with[i];
      sum[i] += at[i] < 0 ? doubled : other;
      at[i] *= kDiscontinuousNudge;
    }
  }
  std::copy_n(sum, count, c);
}

void evaluate(const Call& call) {
  const auto *a = call.operand<const float>(0), *b = call.operand<const float>(1);
  auto* c = call.operand<float>(2);
  const std::int64_t n = call.params.at("n"), passes = call.params.at("passes");
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < n; first += kBlock)
    evaluate_block(a + first, b + first, c + first, std::min(kBlock, n - first), passes);
}

const bool added = add_kernel({
    .name = "cpu/discontinuous/vectors",
    .order = 20,
    .title = "both, by vectors",
    .idea = "Both results for a register of elements at a time, and a choice by the sign: no branch to predict.",
    .source = {{"glibc", "libmvec"}},
    .run = evaluate,
});

}  // namespace
}  // namespace rung
