/// One copy of the counters per block in shared memory, where atomics are fast and conflict only within one block; at
/// the end each block adds its copy to the counters in global memory. A thread reads one byte at a time, the fewest
/// bytes in flight possible, and atomics of lanes with equal values are still serialised.
#include "gpu/histogram/privatised.hpp"

namespace rung {
namespace {

__global__ void count_in_shared_memory(const mem<unsigned char>* values, mem<unsigned>* counts, int n) {
  __shared__ mem<unsigned> own[kBins];
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) own[bin] = 0;
  __syncthreads();  // the copy is empty
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const unsigned char value = values[i];
    atomicAdd(&own[value], 1u);
  }
  __syncthreads();  // all values of the block are counted
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    const unsigned count = own[bin];
    atomicAdd(&counts[bin], count);
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/histogram/shared_copy",
    .order = 20,
    .title = "a copy a block",
    .idea = "Each block counts in shared memory and adds its copy to the counters at the end.",
    .source = {{"pmpp", "section 9.4"}},
    .type = Type::int8,
    .tunables = {{"threads", HistogramThreads::values()}},
    .gpu = {
        .launch =
            [](const Params& p) {
              return Launch{{histogram_blocks(p, 1)}, {static_cast<unsigned>(p.at("threads"))}};
            },
        .requested = [](const Params& p) { return privatised_traffic(p, histogram_blocks(p, 1)); },
    },
    .run =
        [](const Call& call) {
          launch_zero_counts(call);
          launch(call, count_in_shared_memory, call.operand<const mem<unsigned char>>(0),
                 call.operand<mem<unsigned>>(1), static_cast<int>(call.params.at("n")));
        },
});

}  // namespace
}  // namespace rung
