/// The triple loop with its inner loops interchanged: a row of B, times one element of A, is added to a row of C. The
/// inner loop now runs along rows, so it uses every byte of a line and its additions are independent: the compiler
/// vectorises it. One thread. C is loaded and stored once per multiply-add, which requires bandwidth from the caches.
/// Source: PMPP 4e, section 5.4, note on strip-mining and loop interchange on CPUs.
#include <algorithm>

#include "common/problem/matmul.hpp"
#include "cpu/matmul/level_traffic.hpp"

namespace rung {
namespace {

void matmul_interchanged(const float* __restrict a, const float* __restrict b, float* __restrict c, std::size_t m,
                         std::size_t n, std::size_t k) {
  for (std::size_t row = 0; row < m; ++row) {
    std::fill_n(c + row * n, n, 0.0f);
    for (std::size_t i = 0; i < k; ++i) {
      const float factor = a[row * k + i];
      for (std::size_t col = 0; col < n; ++col) c[row * n + col] += factor * b[i * n + col];
    }
  }
}

const bool added = add_kernel({
    .name = "cpu/matmul/interchanged",
    .order = 20,
    .title = "loops interchanged",
    .idea = "With the column loop innermost, memory is read along rows and the compiler can vectorise; one thread.",
    .source = {{"pmpp", "section 5.4, loop interchange"}},
    .cpu = {.is_serial = true, .level_traffic = [](const Params& p) { return interchanged_traffic(matmul_shape(p)); }},
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          matmul_interchanged(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2), m, n,
                              k);
        },
});

}  // namespace
}  // namespace rung
