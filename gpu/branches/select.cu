/// No branch: the two paths differ only in their coefficients, so a thread chooses these and executes one path. A
/// branch that can be turned into data should be: the pattern of threads no longer matters.
/// Floor: the FP32 units' rate.
#include "gpu/branches/ways.hpp"

namespace rung {
namespace {

template <int Body>
__global__ void branch_select(const mem<float>* x, mem<float>* y, int n, int rounds, int group, int taken) {
  const int i = blockIdx.x * kBranchThreads + threadIdx.x;
  if (i >= n) return;
  reg<float> value = x[i];
  int place = first_place(i, group, taken);
  for (int round = 0; round < rounds; ++round) {
    const bool is_first = place < taken;
    step<Body>(value, is_first ? kFirstFactor : kSecondFactor, is_first ? kFirstTerm : kSecondTerm);
    place = next_place(place, taken);
  }
  y[i] = value;
}

const bool added = add_gpu_kernel({
    .name = "gpu/branches/select",
    .order = 30,
    .title = "choice of coefficients",
    .idea = "No branch: a thread chooses its coefficients, and all threads execute the same path.",
    .source = {{"cuda-best-practices", "branching and divergence"}},
    .gpu = {.launch = branch_launch, .requested = branch_traffic},
    .run =
        [](const Call& call) {
          BranchBodies::pick(call.params.at("body"), [&](auto body) { run_branches(call, branch_select<body>); });
        },
});

}  // namespace
}  // namespace rung
