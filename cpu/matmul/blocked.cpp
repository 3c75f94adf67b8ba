/// The interchanged loops on square blocks: while a block of C is worked on, it and a block of B stay in the cache, so
/// each element fetched from memory is used `block` times. Blocks of C are shared out among all threads.
/// The GPU's tile in shared memory does the same by name; here the cache does it unasked, if the blocks fit.
/// Source: PMPP 4e, section 5.4 (tiling on CPUs relies on the caches).
#include <algorithm>

#include "common/problem/matmul.hpp"

namespace rung {
namespace {

void matmul_blocked(const float* __restrict a, const float* __restrict b, float* __restrict c, std::size_t m,
                    std::size_t n, std::size_t k, std::size_t block) {
  // Dynamic, since a block at an edge is cheaper, and a core may be slowed down by another process.
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (std::size_t row_block = 0; row_block < m; row_block += block)
    for (std::size_t col_block = 0; col_block < n; col_block += block) {
      const std::size_t row_end = std::min(row_block + block, m), col_end = std::min(col_block + block, n);
      for (std::size_t row = row_block; row < row_end; ++row)
        std::fill(c + row * n + col_block, c + row * n + col_end, 0.0f);
      for (std::size_t phase = 0; phase < k; phase += block) {
        const std::size_t phase_end = std::min(phase + block, k);
        for (std::size_t row = row_block; row < row_end; ++row)
          for (std::size_t i = phase; i < phase_end; ++i) {
            const float factor = a[row * k + i];
            for (std::size_t col = col_block; col < col_end; ++col) c[row * n + col] += factor * b[i * n + col];
          }
      }
    }
}

const bool added = add_kernel({
    .name = "cpu/matmul/blocked",
    .order = 30,
    .title = "blocked, all threads",
    .idea =
        "Blocks of C and B stay in the cache and each element fetched is used many times; all threads share the work.",
    .source = "PMPP 4e, section 5.4 (tiling on CPUs relies on the caches)",
    .tunables = {{"block", {64, 16, 32, 128, 256}}},
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          matmul_blocked(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2), m, n, k,
                         static_cast<std::size_t>(call.params.at("block")));
        },
});

}  // namespace
}  // namespace rung
