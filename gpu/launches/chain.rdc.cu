/// Every step launches the next one, to run when all its own blocks have ended (a tail launch): for work where only a
/// step itself can decide whether another one follows.
/// Source: NVIDIA, CUDA C++ Programming Guide, "CUDA dynamic parallelism", tail launches.
#include "gpu/launches/step.hpp"
#include "gpu/simt/device_launch.hpp"

namespace rung {
namespace {

__global__ void step_and_next(const mem<std::uint32_t>* x, mem<std::uint32_t>* y, int n, int steps) {
  const int i = blockIdx.x * kStepThreads + threadIdx.x;
  if (i < n) y[i] = scrambled_word(x[i]);
  const mem<std::uint32_t>* last = y;
  if (i == 0 && steps > 1) launch_at_end(gridDim.x, kStepThreads, step_and_next, last, y, n, steps - 1);
}

const bool added = add_gpu_kernel({
    .name = "gpu/launches/chain",
    .order = 40,
    .title = "by the last step",
    .idea = "Every step launches the next one, which runs when all blocks of this one have ended.",
    .source = {{"blakely", "Device function calling"}, {"cuda-guide", "CUDA dynamic parallelism"}},
    .type = Type::uint32,
    .gpu =
        {
            .min_compute_capability = 70,
            .not_emulated = "launches from a kernel",
            .launch = step_launch,
            .requested = traffic_of_steps,
        },
    .run =
        [](const Call& call) {
          launch(call, step_and_next, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 elements_of(call.params), steps_of(call.params));
        },
});

}  // namespace
}  // namespace rung
