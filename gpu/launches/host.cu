/// The host launches each step. A launch returns before the GPU has executed it, so launches queue up, and each begins
/// when the previous one has ended.
#include "gpu/launches/step.hpp"

namespace rung {
namespace {

__global__ void step(const mem<std::uint32_t>* x, mem<std::uint32_t>* y, int n) {
  const int i = blockIdx.x * kStepThreads + threadIdx.x;
  if (i < n) y[i] = scrambled_word(x[i]);
}

const bool added = add_gpu_kernel({
    .name = "gpu/launches/host",
    .order = 20,
    .title = "by the host",
    .idea = "The host launches one step after another; they wait in the stream.",
    .source = {{"blakely", "CUDA extensions to C++"}},
    .type = Type::uint32,
    .gpu = {.launch = step_launch, .requested = traffic_of_steps},
    .run =
        [](const Call& call) {
          for (int i = 0; i < steps_of(call.params); ++i)
            launch(call, step, call.operand<const mem<std::uint32_t>>(i == 0 ? 0 : 1),
                   call.operand<mem<std::uint32_t>>(1), elements_of(call.params));
        },
});

}  // namespace
}  // namespace rung
