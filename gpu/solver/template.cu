/// The method as a template argument: one kernel per method, with no choice at run time. The host chooses the kernel.
/// Floor: the FP32 units' rate.
#include "gpu/solver/steps.hpp"

namespace rung {
namespace {

template <int Method>
__global__ void solve_template(const mem<float>* from, mem<float>* result, int n, int steps) {
  const int i = blockIdx.x * kSolverThreads + threadIdx.x;
  if (i >= n) return;
  reg<float> u = from[i];
  for (int step = 0; step < steps; ++step) u = update(Method, u);
  result[i] = u;
}

const bool added = add_gpu_kernel({
    .name = "gpu/solver/template",
    .order = 10,
    .title = "template argument",
    .idea = "One kernel per method: the host chooses which one to launch.",
    .source = {{"blakely", "device functions"}},
    .gpu = {.launch = solver_launch, .requested = solver_traffic},
    .run =
        [](const Call& call) {
          Choices<0, 1, 2>::pick(call.params.at("method"), [&](auto method) {
            launch(call, solve_template<method>, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                   solver_size(call, "n"), solver_size(call, "steps"));
          });
        },
});

}  // namespace
}  // namespace rung
