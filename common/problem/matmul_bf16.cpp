/// The product of bfloat16 matrices with float32 sums. The inputs are rounded first, and the reference is made from
/// what is stored: judged is the arithmetic, not the rounding of the inputs. The bound has the factor 2 since the
/// adders of matrix units may truncate: Blanchard, Higham, Lopez, Mary, Pranesh: Mixed Precision Block Fused
/// Multiply-Add (SISC 2020).
#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

void round_all(std::span<const float> from, void* to) {
  auto* stored = static_cast<Bf16*>(to);
  const auto count = static_cast<std::int64_t>(from.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) stored[i] = to_bf16(from[i]);
}

void widen_all(const void* from, std::span<float> to) {
  const auto* stored = static_cast<const Bf16*>(from);
  const auto count = static_cast<std::int64_t>(to.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) to[i] = from_bf16(stored[i]);
}

const bool added =
    add_problem(matmul_problem({.type = Type::bf16, .round = round_all, .widen = widen_all, .slack = 2}));

}  // namespace
}  // namespace rung
