/// A copy of the counters for each lane, shared by all warps of the block: lane l has the l-th of each 32 words, so
/// that the lanes of a warp count in 32 different banks, whatever their values are. No request has a bank conflict, and
/// the rate no longer depends on the distribution of the values.
#include "gpu/histogram/privatised.hpp"

namespace rung {
namespace {

template <int Threads>
__global__ void __launch_bounds__(Threads)
    count_by_lane(const mem<unsigned char>* values, mem<unsigned>* counts, int n) {
  __shared__ mem<unsigned> own[kBins * 32];  // a row of 32 lanes per bin
  const int lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < kBins * 32; i += Threads) own[i] = 0;
  __syncthreads();  // the copies are empty
  for_each_value(values, n, [&](unsigned value) { atomicAdd(&own[value * 32 + lane], 1u); });
  __syncthreads();                                                      // all values of the block are counted
  for (int bin = threadIdx.x / 32; bin < kBins; bin += Threads / 32) {  // one row per warp
    unsigned sum = own[bin * 32 + lane];
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bit);
    if (lane == 0) atomicAdd(&counts[bin], sum);
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/histogram/lane_copies",
    .order = 40,
    .title = "a copy a lane",
    .idea = "One copy of the counters per lane, each in its own bank: no lane waits for another, whatever the values.",
    .source = {{"gomezluna2013"}, {"cuda-best-practices", "shared memory and memory banks"}},
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
            launch(call, count_by_lane<threads>, call.operand<const mem<unsigned char>>(0),
                   call.operand<mem<unsigned>>(1), static_cast<int>(call.params.at("n")));
          });
        },
});

}  // namespace
}  // namespace rung
