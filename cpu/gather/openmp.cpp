/// All threads, each on its own part of the list. A core looks far ahead in such a loop, since no load depends on the
/// one before, and has as many misses under way as its L1 has line-fill buffers, ten to twenty; a random order of an
/// array beyond the caches moves a line of 64 bytes for 4 of them. Floor: 12 bytes an element, or 8 and a line.
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
    .idea = "The loop shared out over all threads, whose cores look ahead and have several misses under way.",
    .source = {{"openmp", "parallel for"}, {"imam2022", "shuffling data"}},
    .run = gather,
});

}  // namespace
}  // namespace rung
