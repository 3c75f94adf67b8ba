/// All threads, with stores that bypass the caches: c's lines are not fetched before they are overwritten, three
/// transfers instead of four. Where the arrays fit into a cache, such stores are slower.
#include <omp.h>

#include <algorithm>

#include "common/registry.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {
namespace {

constexpr std::int64_t kWidth = kVectorBytes / sizeof(float);
constexpr std::int64_t kGranule = 64;  // elements: four whole lines

/// Elements from `begin`, a multiple of kGranule, to `end`.
void add_part(const float* a, const float* b, float* c, std::int64_t begin, std::int64_t end) {
  std::int64_t i = begin;
  for (; i + kGranule <= end; i += kGranule)
#pragma GCC unroll 16
    for (std::int64_t j = i; j < i + kGranule; j += kWidth)
      store<Store::streaming>(reinterpret_cast<FloatVector*>(c + j), *reinterpret_cast<const FloatVector*>(a + j) +
                                                                         *reinterpret_cast<const FloatVector*>(b + j));
  for (; i < end; ++i) c[i] = a[i] + b[i];
  finish_stores<Store::streaming>();
}

void add_streaming(const Call& call) {
  const auto *a = call.operand<const float>(0), *b = call.operand<const float>(1);
  auto* c = call.operand<float>(2);
  const std::int64_t n = call.params.at("n");
  const std::int64_t granules = (n + kGranule - 1) / kGranule;
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    add_part(a, b, c, granules * thread / team * kGranule, std::min(granules * (thread + 1) / team * kGranule, n));
  }
}

const bool added = kHasStreamingStores &&
                   add_kernel({
                       .name = "cpu/vector_addition/streaming",
                       .order = 30,
                       .title = "streaming stores",
                       .idea = "All threads; stores bypass the caches, so no line is fetched only to be overwritten.",
                       .source = {{"intel-optimization", "non-temporal stores"}},
                       .run = add_streaming,
                   });

}  // namespace
}  // namespace rung
