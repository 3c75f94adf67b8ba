/// Each block stores its sum, and a second launch of one block adds these up. The end of a launch is the only barrier
/// that all blocks share: the next launch sees all its writes, without a fence.
#include "gpu/sum/block_sum.hpp"

namespace rung {
namespace {

__global__ void sum_parts(const mem<float>* x, mem<float>* partials, int n) {
  const reg<float> partial = block_sum(thread_sum(x, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
}

__global__ void sum_partials(const mem<float>* partials, mem<float>* sum, int count) {
  const reg<float> total = block_sum(thread_sum(partials, count));
  if (threadIdx.x == 0) sum[0] = total;
}

const bool added = add_gpu_kernel({
    .name = "gpu/sum/two_launches",
    .order = 20,
    .title = "two launches",
    .idea =
        "Each block stores its sum and a second launch adds them: the end of a launch is the barrier of all blocks.",
    .source = {{"harris2007"}},
    .scratch = [](const Params& p) { return std::vector{partial_sums(p)}; },
    .gpu =
        {
            .launch = sum_launch,
            .requested = partials_traffic,
        },
    .run =
        [](const Call& call) {
          launch(call, sum_parts, call.operand<const mem<float>>(0), call.operand<mem<float>>(2),
                 sum_elements(call.params));
          Call after = call;
          after.launch = Launch{{1}, {kSumThreads}};
          launch(after, sum_partials, call.operand<const mem<float>>(2), call.operand<mem<float>>(1),
                 static_cast<int>(call.launch.grid.x));
        },
});

}  // namespace
}  // namespace rung
