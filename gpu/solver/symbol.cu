/// The method in a __constant__ variable that the host sets before the launch, as the course does, with a switch in
/// every step that all threads take alike. Floor: the FP32 units' rate.
#include "gpu/solver/steps.hpp"

namespace rung {
namespace {

__constant__ mem<int> solver_method[1];

__global__ void solve_symbol(const mem<float>* from, mem<float>* result, int n, int steps) {
  const int i = blockIdx.x * kSolverThreads + threadIdx.x;
  if (i >= n) return;
  reg<float> u = from[i];
  for (int step = 0; step < steps; ++step) u = update(solver_method[0], u);
  result[i] = u;
}

const bool added = add_gpu_kernel({
    .name = "gpu/solver/symbol",
    .order = 30,
    .title = "constant symbol",
    .idea = "One kernel with all methods: a __constant__ variable selects one, and every step has a switch.",
    .source = {{"blakely", "solver parameter"}},
    .gpu = {.launch = solver_launch, .requested = solver_traffic},
    .reset =
        [](const Call& call) {
          const int method = solver_size(call, "method");
          set_constant(call, solver_method, &method, sizeof method);
        },
    .run =
        [](const Call& call) {
          launch(call, solve_symbol, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 solver_size(call, "n"), solver_size(call, "steps"));
        },
});

}  // namespace
}  // namespace rung
