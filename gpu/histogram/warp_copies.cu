/// Loads of 16 bytes, and one copy of the counters per warp: warps no longer conflict, but atomics of a warp's lanes
/// with equal values are still serialised, up to 32 in a row.
#include "gpu/histogram/privatised.hpp"

namespace rung {
namespace {

template <int Threads>
__global__ void __launch_bounds__(Threads)
    count_by_warp(const mem<unsigned char>* values, mem<unsigned>* counts, int n) {
  constexpr int kWarps = Threads / 32;
  __shared__ mem<unsigned> own[kWarps][kBins];
  const int warp = threadIdx.x / 32;
  for (int bin = threadIdx.x % 32; bin < kBins; bin += 32) own[warp][bin] = 0;
  __syncwarp();  // the warp's copy is empty
  for_each_value(values, n, [&](unsigned value) { atomicAdd(&own[warp][value], 1u); });
  __syncthreads();  // all values of the block are counted
  for (int bin = threadIdx.x; bin < kBins; bin += Threads) {
    unsigned sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += own[w][bin];
    atomicAdd(&counts[bin], sum);
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/histogram/warp_copies",
    .order = 30,
    .title = "a copy a warp",
    .idea = "Loads of 16 bytes, and one copy of the counters per warp, so that only its own lanes conflict.",
    .source = {{"luitjens2013"}, {"pmpp", "section 9.4"}},
    .type = Type::int8,
    .tunables = {{"threads", HistogramThreads::values()}},
    .gpu = {
        .launch =
            [](const Params& p) {
              return Launch{{histogram_blocks(p, 16)}, {static_cast<unsigned>(p.at("threads"))}};
            },
        .requested = [](const Params& p) { return privatised_traffic(p, histogram_blocks(p, 16)); },
    },
    .run =
        [](const Call& call) {
          launch_zero_counts(call);
          HistogramThreads::pick(call.params.at("threads"), [&](auto threads) {
            launch(call, count_by_warp<threads>, call.operand<const mem<unsigned char>>(0),
                   call.operand<mem<unsigned>>(1), static_cast<int>(call.params.at("n")));
          });
        },
});

}  // namespace
}  // namespace rung
