/// The rate at which memory is read and written at the same time, with arrays far larger than the last-level cache.
/// Every thread loads all its 16-byte elements before it stores the first. Blocks are many and short, so that the
/// hardware keeps every multiprocessor busy to the end.
#include <algorithm>

#include "common/machine/device_facts.hpp"
#include "common/problem/copy.hpp"
#include "gpu/ceilings/quad.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;

using Loads = Choices<4, 1, 2, 8>;

template <int InFlight>
__global__ void copy_dram(const mem<uint4>* from, mem<uint4>* to, std::int64_t quads) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * InFlight + threadIdx.x;
  uint4 quad[InFlight];
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < quads) quad[j] = from[first + j * kThreads];
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < quads) to[first + j * kThreads] = quad[j];
}

const bool added = add_gpu_kernel({
    .name = "gpu/copy/dram",
    .order = 10,
    .title = "DRAM copy",
    .idea = "Several 16-byte loads in flight per thread, then the same number of stores: half the bytes read, half "
            "written.",
    .source = {{"mccalpin1995", "copy"}, {"cuda-best-practices", "coalesced access"}},
    .tunables = {{"loads", Loads::values()}},
    .ceiling = Ceiling{"DRAM copy", true},
    .sizes =
        [] {
          const std::int64_t bytes = std::min<std::int64_t>(std::int64_t{1} << 30, gpu_facts().memory_bytes / 16);
          return Params{{"bytes", bytes / kCopyGranule * kCopyGranule}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_for(quads_in(p), kThreads * p.at("loads"))}, {kThreads}};
                },
            .requested =
                [](const Params& p) { return Traffic{.loaded = copy_bytes(p) / 2, .stored = copy_bytes(p) / 2}; },
        },
    .run =
        [](const Call& call) {
          Loads::pick(call.params.at("loads"), [&](auto loads) {
            launch(call, copy_dram<loads>, call.operand<const mem<uint4>>(0), call.operand<mem<uint4>>(1),
                   quads_in(call.params));
          });
        },
});

}  // namespace
}  // namespace rung
