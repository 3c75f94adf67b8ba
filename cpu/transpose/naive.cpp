/// Two loops, one thread: A is read along its rows and B written down its columns. Every store accesses a different
/// line, and a different page where rows are long; a line of B is still in the cache for its next element only if the
/// cache holds a line for every row of B. Where the rows' distance is a power of two, they share few sets, and it does
/// not.
#include "common/problem/transpose.hpp"

namespace rung {
namespace {

void transpose_naive(const Call& call) {
  const auto* a = call.operand<const float>(0);
  auto* b = call.operand<float>(1);
  const std::int64_t rows = call.params.at("m"), cols = call.params.at("n");
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) b[col * rows + row] = a[row * cols + col];
}

const bool added = add_kernel({
    .name = "cpu/transpose/naive",
    .order = 10,
    .title = "naive",
    .idea = "Two loops on one thread: A is read along its rows, B written down its columns.",
    .source = {{"blakely", "coalescence"}},
    .cpu = {.is_serial = true},
    .run = transpose_naive,
});

}  // namespace
}  // namespace rung
