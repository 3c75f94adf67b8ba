/// The blocked kernel's loops without its blocks: a row of C is summed strip by strip in a local array, and for each
/// row all of B is read again. The blocked kernel gains over this one by keeping a block of B in the cache; this one
/// gains over the interchanged loops by the sums in registers. Source: PMPP 4e, section 5.4, footnote 3 (strip-mining).
#include <algorithm>

#include "common/problem/matmul.hpp"
#include "cpu/matmul/level_traffic.hpp"

namespace rung {
namespace {

constexpr std::size_t kStrip = kMostSumsInRegisters;

void matmul_strips(const float* __restrict a, const float* __restrict b, float* __restrict c, std::size_t m,
                   std::size_t n, std::size_t k) {
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t left = 0; left < n; left += kStrip) {
      const auto fill_strip = [=](std::size_t width) {
        float sums[kStrip] = {};
        for (std::size_t i = 0; i < k; ++i)
          for (std::size_t col = 0; col < width; ++col) sums[col] += a[row * k + i] * b[i * n + left + col];
        for (std::size_t col = 0; col < width; ++col) c[row * n + left + col] = sums[col];
      };
      if (left + kStrip <= n)
        fill_strip(kStrip);  // a constant width: the compiler unrolls the loop over the few vectors
      else
        fill_strip(n - left);
    }
}

const bool added = add_kernel({
    .name = "cpu/matmul/strips",
    .order = 27,
    .title = "strips, all threads",
    .idea = "A row of C is summed in registers, strip by strip; for each row all of B is read again.",
    .source = {{"pmpp", "section 5.4, footnote 3"}},
    .cpu = {.level_traffic = [](const Params& p) { return strips_traffic(matmul_shape(p), kStrip); }},
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          matmul_strips(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
