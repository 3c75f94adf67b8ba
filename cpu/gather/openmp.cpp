/// All threads, each on its own part of the list. A core looks far ahead in such a loop, since no load depends on the
/// previous one, and has one outstanding miss per line-fill buffer of its L1, ten to twenty. In a random order, an
/// array beyond the caches moves a line of 64 bytes for each 4 bytes. Floor: 12 bytes per element, or 8 and a line.
#include "common/registry.hpp"

namespace rung {
namespace {

void gather(const Call& call) {
  const auto* x = call.operand<const float>(0);
  const auto* index = call.operand<const std::int32_t>(1);
  auto* y = call.operand<float>(2);
  const std::int64_t n = call.params.at("n");
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[index[i]];
}

const bool added = add_kernel({
    .name = "cpu/gather/openmp",
    .order = 10,
    .title = "OpenMP",
    .idea = "The loop divided among all threads, whose cores look ahead and have several outstanding misses.",
    .source = {{"openmp", "parallel for"}, {"imam2022", "shuffling data"}},
    .run = gather,
});

}  // namespace
}  // namespace rung
