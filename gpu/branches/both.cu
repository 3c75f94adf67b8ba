/// Every thread executes both paths and keeps one result. It always costs as much as a divergent warp, and as a short
/// branch that the compiler predicates. No pattern of threads makes it faster or slower.
/// Floor: half of the FP32 units' rate.
#include "gpu/branches/ways.hpp"

namespace rung {
namespace {

template <int Body>
__global__ void branch_both(const mem<float>* x, mem<float>* y, int n, int rounds, int group, int taken) {
  const int i = blockIdx.x * kBranchThreads + threadIdx.x;
  if (i >= n) return;
  reg<float> value = x[i];
  int place = first_place(i, group, taken);
  for (int round = 0; round < rounds; ++round) {
    reg<float> second = value;
    step<Body>(value, kFirstFactor, kFirstTerm);
    step<Body>(second, kSecondFactor, kSecondTerm);
    value = place < taken ? value : second;
    place = next_place(place, taken);
  }
  y[i] = value;
}

const bool added = add_gpu_kernel({
    .name = "gpu/branches/both",
    .order = 20,
    .title = "both ways",
    .idea = "Every thread executes both paths and keeps one result.",
    .source = {{"cuda-best-practices", "branch predication"}},
    .gpu = {.launch = branch_launch, .requested = branch_traffic},
    .run =
        [](const Call& call) {
          BranchBodies::pick(call.params.at("body"), [&](auto body) { run_branches(call, branch_both<body>); });
        },
});

}  // namespace
}  // namespace rung
