/// All steps in one launch, which is possible here since an element needs no other: the cost of the steps without any
/// launches between them.
#include "gpu/launches/step.hpp"

namespace rung {
namespace {

__global__ void all_steps(const mem<std::uint32_t>* x, mem<std::uint32_t>* y, int n, int steps) {
  const int i = blockIdx.x * kStepThreads + threadIdx.x;
  if (i >= n) return;
  std::uint32_t word = x[i];
  for (int step = 0; step < steps; ++step) word = scrambled_word(word);
  y[i] = word;
}

const bool added = add_gpu_kernel({
    .name = "gpu/launches/loop",
    .order = 10,
    .title = "one launch",
    .idea = "All steps in one launch, where nothing has to be started between them.",
    .source = {{"blakely", "CUDA extensions to C++"}},
    .type = Type::uint32,
    .gpu =
        {
            .launch = step_launch,
            .requested = [](const Params& p) { return Traffic{.loaded = 4.0 * p.at("n"), .stored = 4.0 * p.at("n")}; },
        },
    .run =
        [](const Call& call) {
          launch(call, all_steps, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 elements_of(call.params), steps_of(call.params));
        },
});

}  // namespace
}  // namespace rung
