/// All threads, each with several vectors of sums side by side: no addition waits for the one before, so that a core
/// adds as fast as it can load, and together the cores read at the rate of memory, or of the cache that holds the
/// array.
#include <omp.h>

#include <algorithm>

#include "common/registry.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {
namespace {

constexpr std::int64_t kWidth = kVectorBytes / sizeof(float);
constexpr int kSums = 8;  // twice the additions that two units have under way for four cycles
constexpr std::int64_t kBatch = kSums * kWidth;

/// Elements from `begin`, a multiple of kBatch, to `end`.
float sum_part(const float* x, std::int64_t begin, std::int64_t end) {
  FloatVector sums[kSums] = {};
  std::int64_t i = begin;
  for (; i + kBatch <= end; i += kBatch)
#pragma GCC unroll 8
    for (int s = 0; s < kSums; ++s) sums[s] += *reinterpret_cast<const FloatVector*>(x + i + s * kWidth);
  for (int s = 1; s < kSums; ++s) sums[0] += sums[s];
  float sum = 0;
  for (int lane = 0; lane < kWidth; ++lane) sum += sums[0][lane];
  for (; i < end; ++i) sum += x[i];
  return sum;
}

void sum_vectors(const Call& call) {
  const auto* x = call.operand<const float>(0);
  const std::int64_t n = call.params.at("n"), batches = (n + kBatch - 1) / kBatch;
  float sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    sum += sum_part(x, batches * thread / team * kBatch, std::min(batches * (thread + 1) / team * kBatch, n));
  }
  *call.operand<float>(1) = sum;
}

const bool added = add_kernel({
    .name = "cpu/sum/vectors",
    .order = 20,
    .title = "vectors side by side",
    .idea = "Each thread adds into several vectors side by side, so that no addition waits for the one before.",
    .source = {{"intel-optimization", "latency and throughput of additions"}},
    .run = sum_vectors,
});

}  // namespace
}  // namespace rung
