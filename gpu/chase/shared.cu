/// Walkers in shared memory: a block loads the whole cycle, then one thread per walker follows it. One walker measures
/// the latency of shared memory. Floor: steps x latency.
#include <algorithm>

#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr std::int64_t kThreads = 256;          // that load the cycle
constexpr std::int64_t kMostBytes = 48 * 1024;  // available to a block on every GPU
constexpr std::int64_t kMostWalkers = 1024;     // of one block

__global__ void walk_shared(const mem<std::uint32_t>* next, mem<std::uint32_t>* at, mem<std::uint32_t>* sums, int words,
                            int walkers, int steps) {
  mem<std::uint32_t>* const nodes = dynamic_shared<mem<std::uint32_t>>();
  const int tx = threadIdx.x;
  for (int i = tx; i < words; i += blockDim.x) {
    const std::uint32_t word = next[i];
    nodes[i] = word;
  }
  __syncthreads();
  if (tx >= walkers) return;
  std::uint32_t here = at[tx], sum = 0;
#pragma unroll 4
  for (int step = 0; step < steps; ++step) {
    here = nodes[here];
    sum += here;
  }
  at[tx] = here;
  sums[tx] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/chase/shared",
    .order = 20,
    .title = "shared memory",
    .idea = "The cycle is loaded into shared memory once, and its pointers are followed there.",
    .source = {{"jia2018"}, {"zhou2015", "Memory Model"}},
    .type = Type::uint32,
    .refuse = [](const Params& p) -> std::string {
      if (p.at("bytes") > kMostBytes) return "without a request for more, a block has at most 48 KiB of shared memory";
      return p.at("walkers") > kMostWalkers ? "a block has at most 1024 walkers" : "";
    },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  const auto threads = static_cast<unsigned>(std::max(p.at("walkers"), kThreads));
                  return Launch{{1}, {threads}, static_cast<std::size_t>(p.at("bytes"))};
                },
            .requested =
                [](const Params& p) {
                  const double walkers = static_cast<double>(p.at("walkers"));
                  return Traffic{.loaded = p.at("bytes") + 4 * walkers, .stored = 8 * walkers};
                },
        },
    .run =
        [](const Call& call) {
          launch(call, walk_shared, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 call.operand<mem<std::uint32_t>>(2), static_cast<int>(call.params.at("bytes") / 4),
                 static_cast<int>(call.params.at("walkers")), static_cast<int>(call.params.at("steps")));
        },
});

}  // namespace
}  // namespace rung
