/// All threads, each with several vectors of sums side by side: no addition waits for the previous one, so that a core
/// adds as fast as it can load, and together the cores read at the rate of memory, or of the cache that holds the
/// array.
#include <omp.h>

#include <algorithm>

#include "common/registry.hpp"
#include "cpu/vector_sum.hpp"

namespace rung {
namespace {

constexpr std::int64_t kWidth = kVectorBytes / sizeof(float);
constexpr int kSums = 8;  // twice the additions in flight in two units with a latency of four cycles
constexpr std::int64_t kBatch = kSums * kWidth;

void sum_vectors(const Call& call) {
  const auto* x = call.operand<const float>(0);
  const std::int64_t n = call.params.at("n"), batches = (n + kBatch - 1) / kBatch;
  float sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    sum += vector_sum<kSums>(x, batches * thread / team * kBatch, std::min(batches * (thread + 1) / team * kBatch, n));
  }
  *call.operand<float>(1) = sum;
}

const bool added = add_kernel({
    .name = "cpu/sum/vectors",
    .order = 20,
    .title = "vectors side by side",
    .idea = "Each thread adds into several vectors side by side, so that no addition waits for the previous one.",
    .source = {{"intel-optimization", "latency and throughput of additions"}},
    .run = sum_vectors,
});

}  // namespace
}  // namespace rung
