/// The table in global memory, read through the read-only path of the L1 cache. A row is one line of 128 bytes, so any
/// number of addresses in it are one request of at most four sectors.
/// Floor: one request per clock and multiprocessor, whatever its addresses.
#include "gpu/lookup/walk.hpp"

namespace rung {
namespace {

template <LookupChain kChain>
__global__ void __launch_bounds__(kLookupThreads)
    lookup_read_only(const mem<unsigned>* table, mem<unsigned>* sums, int n, int rounds, int rows, int distinct) {
  const int i = blockIdx.x * kLookupThreads + threadIdx.x;
  if (i >= n) return;
  sums[i] = walk<kChain>(i, rounds, rows, distinct, [=](unsigned place) -> unsigned { return __ldg(table + place); });
}

const bool added = add_gpu_kernel({
    .name = "gpu/lookup/read_only",
    .order = 20,
    .title = "global memory",
    .idea = "The table stays in global memory and is read through the read-only path of the L1 cache.",
    .source = {{"cuda-guide", "read-only data cache load function"}},
    .type = Type::uint32,
    .gpu = {.launch = [](const Params& p) { return lookup_launch(p); },
            .requested =
                [](const Params& p) {
                  const auto n = static_cast<double>(p.at("n"));
                  return Traffic{.loaded = 4 * n * static_cast<double>(p.at("rounds")), .stored = 4 * n};
                }},
    .run =
        [](const Call& call) {
          with_lookup_chain(call, [&](auto chain) {
            launch(call, lookup_read_only<chain>, call.operand<const mem<unsigned>>(0), call.operand<mem<unsigned>>(1),
                   lookup_size(call, "n"), lookup_size(call, "rounds"), lookup_size(call, "rows"),
                   lookup_size(call, "distinct"));
          });
        },
});

}  // namespace
}  // namespace rung
