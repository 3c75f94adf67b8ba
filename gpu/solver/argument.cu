/// The method as an argument of the kernel, with a switch in every step that all threads take alike. Arguments are in
/// constant memory, from which instructions read them as operands. Floor: the FP32 units' rate.
#include "gpu/solver/steps.hpp"

namespace rung {
namespace {

__global__ void solve_argument(const mem<float>* from, mem<float>* result, int n, int steps, int method) {
  const int i = blockIdx.x * kSolverThreads + threadIdx.x;
  if (i >= n) return;
  reg<float> u = from[i];
  for (int step = 0; step < steps; ++step) u = update(method, u);
  result[i] = u;
}

const bool added = add_gpu_kernel({
    .name = "gpu/solver/argument",
    .order = 20,
    .title = "kernel argument",
    .idea = "One kernel with all methods: an argument selects one, and every step has a switch.",
    .source = {{"blakely", "kernel functions"}},
    .gpu = {.launch = solver_launch, .requested = solver_traffic},
    .run =
        [](const Call& call) {
          launch(call, solve_argument, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 solver_size(call, "n"), solver_size(call, "steps"), solver_size(call, "method"));
        },
});

}  // namespace
}  // namespace rung
