/// The triple loop as in the textbook: row, column, then the dot product of a row of A and a column of B. One thread.
/// Reading a column of B uses 4 bytes of every 64-byte line, and the sum is one chain of dependent additions, whose
/// order the compiler must keep: the latency of an addition limits the speed, not the width of the unit, even where the
/// compiler forms several products at a time.
/// Source: Zhou, CUDA/GPU Programming (2), "Matrix Multiply: CPU Implementation".
#include "common/problem/matmul.hpp"
#include "cpu/matmul/level_traffic.hpp"

namespace rung {
namespace {

void matmul_naive(const float* a, const float* b, float* c, std::size_t m, std::size_t n, std::size_t k) {
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t col = 0; col < n; ++col) {
      float sum = 0;
      for (std::size_t i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
      c[row * n + col] = sum;
    }
}

const bool added = add_kernel({
    .name = "cpu/matmul/naive",
    .order = 10,
    .title = "naive",
    .idea = "The textbook's triple loop on one thread: each element is a dot product of a row of A and a column of B.",
    .source = {{"zhou2015", "Matrix Multiply: CPU Implementation"}},
    .cpu = {.is_serial = true, .level_traffic = [](const Params& p) { return naive_traffic(matmul_shape(p)); }},
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          matmul_naive(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
