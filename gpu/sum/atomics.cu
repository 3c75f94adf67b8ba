/// Each block adds its sum to the result with an atomic. The order of the blocks varies from run to run, which shows in
/// the last bits of a float sum. A separate launch sets the result to zero before.
#include "gpu/sum/block_sum.hpp"

namespace rung {
namespace {

__global__ void zero_sum(mem<float>* sum) { sum[0] = 0; }

__global__ void sum_atomics(const mem<float>* x, mem<float>* sum, int n) {
  const reg<float> partial = block_sum(thread_sum(x, n));
  if (threadIdx.x == 0) atomicAdd(&sum[0], partial);
}

const bool added = add_gpu_kernel({
    .name = "gpu/sum/atomics",
    .order = 10,
    .title = "an atomic a block",
    .idea = "Each block adds its sum to the result with one atomic; a first launch sets the result to zero.",
    .source = {{"cuda-guide", "atomic functions"}},
    .gpu =
        {
            .launch = sum_launch,
            .requested =
                [](const Params& p) { return Traffic{.loaded = 4.0 * p.at("n"), .stored = atomic_bytes(p) + 4}; },
        },
    .run =
        [](const Call& call) {
          Call before = call;
          before.launch = Launch{{1}, {1}};
          launch(before, zero_sum, call.operand<mem<float>>(1));
          launch(call, sum_atomics, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 sum_elements(call.params));
        },
});

}  // namespace
}  // namespace rung
