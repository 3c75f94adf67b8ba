/// The rate of the last-level cache: an array of a third of its size is read many times. A third, because GPUs whose L2
/// has two halves may keep a copy in each. The L1 caches must not help: in every pass a block reads a slice that it has
/// not read before, but another multiprocessor just has.
#include <algorithm>

#include "common/machine/device_facts.hpp"
#include "gpu/ceilings/quad.hpp"

namespace rung {
namespace {

constexpr int kThreads = 1024;
constexpr int kBlocksPerSm = 2;  // 2048 threads: every slot of a multiprocessor
constexpr int kInFlight = 4;

__global__ void read_l2(const mem<uint4>* data, mem<std::uint32_t>* partials, int quads, int passes) {
  const int tx = threadIdx.x;
  const int width = (quads + gridDim.x - 1) / gridDim.x;
  const int shift =
      gridDim.x / 4 + 1;  // to a slice that was not on this multiprocessor, however blocks are distributed
  int slice = blockIdx.x;
  std::uint32_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const int begin = slice * width;
    const int end = begin + width < quads ? begin + width : quads;
    for (int i = begin + tx; i < end; i += kThreads * kInFlight) {
      uint4 quad[kInFlight] = {};
      for (int j = 0; j < kInFlight; ++j)
        if (i + j * kThreads < end) quad[j] = *(data + i + j * kThreads);
      for (int j = 0; j < kInFlight; ++j) sum += total(quad[j]);
    }
    slice += shift;
    if (slice >= static_cast<int>(gridDim.x)) slice -= gridDim.x;
  }
  store_partials<kThreads>(sum, partials);
}

const bool added = add_gpu_kernel({
    .name = "gpu/read/l2",
    .order = 20,
    .title = "L2 read",
    .idea =
        "An array that fits into L2 but not into L1: in each pass a block reads a slice that another block had before.",
    .source = {{"yang2020"}},
    .type = Type::uint32,
    .ceiling = Ceiling{"L2", true},
    .refuse = [](const Params& p) -> std::string {
      return p.at("bytes") > std::int64_t{4} << 30 ? "reads at most 4 GiB: an L2 cache is far smaller" : "";
    },
    .sizes =
        [] {
          const DeviceFacts facts = gpu_facts();
          const std::int64_t round = std::int64_t{facts.sm_count} * kBlocksPerSm * kThreads * sizeof(uint4);
          return Params{{"bytes", std::max<std::int64_t>(facts.l2_bytes / 3 / round, 1) * round}, {"passes", 64}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  const unsigned resident = std::min(gpu_facts().sm_count * kBlocksPerSm, kReadPartials);
                  return Launch{{std::min(resident, blocks_for(quads_in(p), kThreads))}, {kThreads}};
                },
            .requested =
                [](const Params& p) { return Traffic{.loaded = read_bytes(p), .stored = 4.0 * kReadPartials}; },
        },
    .run =
        [](const Call& call) {
          launch(call, read_l2, call.operand<const mem<uint4>>(0), call.operand<mem<std::uint32_t>>(1),
                 static_cast<int>(quads_in(call.params)), static_cast<int>(call.params.at("passes")));
        },
});

}  // namespace
}  // namespace rung
