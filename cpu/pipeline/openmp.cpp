/// All threads, each with vectors of elements side by side in registers: a core starts up to two multiply-adds per
/// clock and completes them after four or five, so ten independent ones keep it busy. The data are already in place, so
/// nothing is copied. Floor: the slower of memory and arithmetic.
#include <algorithm>
#include <cstring>

#include "common/problem/fma.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {
namespace {

constexpr int kVectors = 10;
constexpr std::int64_t kGroup = kVectors * kVectorBytes / static_cast<std::int64_t>(sizeof(float));
constexpr std::int64_t kPiece = 64 * kGroup;  // elements that a thread takes at a time

/// The steps of one group of elements.
void take_steps(const float* x, const float* c, float* y, std::int64_t steps) {
  FloatVector value[kVectors];
  const float a0 = c[0], b0 = c[1], a1 = c[2], b1 = c[3];
  std::memcpy(value, x, sizeof value);
  for (; steps > 0; steps -= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) value[i] = value[i] * a0 + b0;
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) value[i] = value[i] * a1 + b1;
  }
  std::memcpy(y, value, sizeof value);
}

void run_openmp(const Call& call) {
  const auto *x = call.operand<const float>(0), *coefficients = call.operand<const float>(1);
  auto* y = call.operand<float>(2);
  const std::int64_t n = call.params.at("n"), steps = call.params.at("steps");
#pragma omp parallel for schedule(static)
  for (std::int64_t piece = 0; piece < n; piece += kPiece) {
    const std::int64_t end = std::min(n, piece + kPiece);
    std::int64_t i = piece;
    for (; i + kGroup <= end; i += kGroup) take_steps(x + i, coefficients, y + i, steps);
    if (i < end) {  // fewer elements than a group
      float rest[kGroup] = {};
      std::copy(x + i, x + end, rest);
      take_steps(rest, coefficients, rest, steps);
      std::copy(rest, rest + (end - i), y + i);
    }
  }
}

const bool added = add_kernel({
    .name = "cpu/pipeline/openmp",
    .order = 10,
    .title = "OpenMP, vectors side by side",
    .idea = "The array stays where it is, and all threads work on ten vectors of it at a time.",
    .source = {{"openmp", "parallel for"}, {"intel-optimization", "latency and throughput"}},
    .run = run_openmp,
});

}  // namespace
}  // namespace rung
