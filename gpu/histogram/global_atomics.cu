/// One thread and one atomic in global memory per value: all threads of the GPU update 256 counters, in a few sectors
/// of L2. L2's atomic units limit the rate, not memory; where all values are equal, a single unit does.
#include "gpu/histogram/privatised.hpp"

namespace rung {
namespace {

__global__ void count_globally(const mem<unsigned char>* values, mem<unsigned>* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const unsigned char value = values[i];
    atomicAdd(&counts[value], 1u);
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/histogram/global_atomics",
    .order = 10,
    .title = "global atomics",
    .idea = "One atomic in global memory per value: all threads update the same 256 counters.",
    .source = {{"pmpp", "section 9.2"}},
    .type = Type::int8,
    .tunables = {{"threads", HistogramThreads::values()}},
    .gpu = {
        .launch =
            [](const Params& p) {
              return Launch{{blocks_for(p.at("n"), p.at("threads"))}, {static_cast<unsigned>(p.at("threads"))}};
            },
        .requested =
            [](const Params& p) { return Traffic{.loaded = 1.0 * p.at("n"), .stored = 4.0 * kBins + 4.0 * p.at("n")}; },
    },
    .run =
        [](const Call& call) {
          launch_zero_counts(call);
          launch(call, count_globally, call.operand<const mem<unsigned char>>(0), call.operand<mem<unsigned>>(1),
                 static_cast<int>(call.params.at("n")));
        },
});

}  // namespace
}  // namespace rung
