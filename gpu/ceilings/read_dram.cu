/// The rate at which an array far larger than the last-level cache is read: 16-byte loads, neighbouring threads on
/// neighbouring addresses, several loads of a thread in flight before the first is used. Enough bytes must be in flight
/// to cover the latency of memory (Little's law): rate x latency, tens of kilobytes per multiprocessor.
#include <algorithm>

#include "common/machine/device_facts.hpp"
#include "gpu/ceilings/quad.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 8;  // 2048 threads: every slot of a multiprocessor

using Loads = Choices<4, 2, 8>;

template <int InFlight>
__global__ void read_dram(const mem<uint4>* data, mem<std::uint32_t>* partials, int quads, int passes) {
  const int tx = threadIdx.x;
  const int step = gridDim.x * kThreads * InFlight;
  std::uint32_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    int i = blockIdx.x * kThreads * InFlight + tx;
    for (; i + (InFlight - 1) * kThreads < quads; i += step) {  // whole batches: nothing between the loads
      uint4 quad[InFlight];
      for (int j = 0; j < InFlight; ++j) quad[j] = *(data + i + j * kThreads);
      for (int j = 0; j < InFlight; ++j) sum += total(quad[j]);
    }
    for (int j = 0; j < InFlight - 1; ++j)  // the rest of the last batch
      if (i + j * kThreads < quads) sum += total(*(data + i + j * kThreads));
  }
  store_partials<kThreads>(sum, partials);
}

const bool added = add_gpu_kernel({
    .name = "gpu/read/dram",
    .order = 10,
    .title = "DRAM read",
    .idea = "Every thread keeps several 16-byte loads in flight over an array that no cache can hold.",
    .source = {{"little1961"}, {"cuda-best-practices", "coalesced access"}},
    .type = Type::uint32,
    .tunables = {{"loads", Loads::values()}},
    .ceiling = Ceiling{"DRAM read", true},
    .refuse = [](const Params& p) -> std::string {
      return p.at("bytes") > std::int64_t{16} << 30 ? "reads at most 16 GiB, so that an index fits 32 bits" : "";
    },
    .sizes =
        [] {
          const std::int64_t bytes = std::min<std::int64_t>(std::int64_t{2} << 30, gpu_facts().memory_bytes / 8);
          return Params{{"bytes", bytes / kReadGranule * kReadGranule}, {"passes", 1}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  const unsigned resident = std::min(gpu_facts().sm_count * kBlocksPerSm, kReadPartials);
                  return Launch{{std::min(resident, blocks_for(quads_in(p), kThreads * p.at("loads")))}, {kThreads}};
                },
            .requested =
                [](const Params& p) { return Traffic{.loaded = read_bytes(p), .stored = 4.0 * kReadPartials}; },
        },
    .run =
        [](const Call& call) {
          Loads::pick(call.params.at("loads"), [&](auto loads) {
            launch(call, read_dram<loads>, call.operand<const mem<uint4>>(0), call.operand<mem<std::uint32_t>>(1),
                   static_cast<int>(quads_in(call.params)), static_cast<int>(call.params.at("passes")));
          });
        },
});

}  // namespace
}  // namespace rung
