/// The interchanged loops with the rows of C divided among all threads: the effect of one line of OpenMP.
/// Source: OpenMP's parallel for on the outermost loop.
#include <algorithm>

#include "common/problem/matmul.hpp"
#include "cpu/matmul/level_traffic.hpp"

namespace rung {
namespace {

void matmul_rows(const float* __restrict a, const float* __restrict b, float* __restrict c, std::size_t m,
                 std::size_t n, std::size_t k) {
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < m; ++row) {
    std::fill_n(c + row * n, n, 0.0f);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t col = 0; col < n; ++col) c[row * n + col] += a[row * k + i] * b[i * n + col];
  }
}

const bool added = add_kernel({
    .name = "cpu/matmul/rows",
    .order = 25,
    .title = "rows, all threads",
    .idea = "The interchanged loops with the rows of C divided among all threads.",
    .source = {{"openmp", "worksharing-loop construct"}},
    .cpu = {.level_traffic = [](const Params& p) { return interchanged_traffic(matmul_shape(p)); }},
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          matmul_rows(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
