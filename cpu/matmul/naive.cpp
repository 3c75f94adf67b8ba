/// The triple loop as in the textbook: row, column, then the dot product of a row of A and a column of B. One thread.
/// The walk down a column of B uses 4 bytes of every 64-byte line that it touches, and the sum is one chain of
/// dependent additions, whose order the compiler must keep. At -O3, g++ forms two or four products at a time but still
/// adds them one by one: the latency of an addition sets the pace, not the width of the unit.
/// Source: CUDA/GPU programming slides (2), "Matrix Multiply: CPU Implementation".
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
    .idea = "The textbook's triple loop on one thread: each element is a dot product that walks down a column of B.",
    .source = {{"zhou2015", "Matrix Multiply: CPU Implementation"}},
    .cpu = {.level_traffic = [](const Params& p) { return naive_traffic(matmul_shape(p)); }},
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          matmul_naive(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
