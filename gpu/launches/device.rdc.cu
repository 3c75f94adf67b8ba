/// A kernel of one thread launches all steps (dynamic parallelism): they run in the order of its launches, after it.
/// The host makes one call for any number of steps, which it need not know. Source: Blakely, Writing and Compiling a
/// CUDA Code, "Device function calling"; NVIDIA, CUDA C++ Programming Guide.
#include "gpu/launches/step.hpp"
#include "gpu/simt/device_launch.hpp"

namespace rung {
namespace {

__global__ void step(const mem<std::uint32_t>* x, mem<std::uint32_t>* y, int n) {
  const int i = blockIdx.x * kStepThreads + threadIdx.x;
  if (i < n) y[i] = scrambled_word(x[i]);
}

__global__ void launch_steps(const mem<std::uint32_t>* x, mem<std::uint32_t>* y, int n, int steps) {
  const unsigned blocks = (n + kStepThreads - 1) / kStepThreads;
  for (int i = 0; i < steps; ++i) launch_in_order(blocks, kStepThreads, step, i == 0 ? x : y, y, n);
}

const bool added = add_gpu_kernel({
    .name = "gpu/launches/device",
    .order = 30,
    .title = "by a kernel",
    .idea = "A kernel of one thread launches one step after another; they run when it has ended, in that order.",
    .source = {{"blakely", "Device function calling"}, {"cuda-guide", "CUDA dynamic parallelism"}},
    .type = Type::uint32,
    .gpu =
        {
            .min_compute_capability = 70,
            .not_emulated = "launches from a kernel",
            .launch =
                [](const Params&) {
                  return Launch{{1}, {1}};
                },
            .requested = traffic_of_steps,
        },
    .run =
        [](const Call& call) {
          launch(call, launch_steps, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 elements_of(call.params), steps_of(call.params));
        },
});

}  // namespace
}  // namespace rung
