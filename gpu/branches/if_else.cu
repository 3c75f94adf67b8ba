/// The branch as it is written: if and else. Where all lanes of a warp take one path, the warp skips the other. Where
/// they diverge, it executes both paths, each with the lanes on that path, and takes as long as both together. The
/// compiler may turn a short branch into predicated instructions, or into a choice between values. Floor: the FP32
/// units' rate, or half of it where the lanes of a warp diverge.
#include "gpu/branches/ways.hpp"

namespace rung {
namespace {

template <int Body>
__global__ void branch_if_else(const mem<float>* x, mem<float>* y, int n, int rounds, int group, int taken) {
  const int i = blockIdx.x * kBranchThreads + threadIdx.x;
  if (i >= n) return;
  reg<float> value = x[i];
  int place = first_place(i, group, taken);
  for (int round = 0; round < rounds; ++round) {
    if (place < taken) {
      count_way();
      step<Body>(value, kFirstFactor, kFirstTerm);
    } else {
      count_way();
      step<Body>(value, kSecondFactor, kSecondTerm);
    }
    place = next_place(place, taken);
  }
  y[i] = value;
}

const bool added = add_gpu_kernel({
    .name = "gpu/branches/if_else",
    .order = 10,
    .title = "if and else",
    .idea = "A branch: each thread takes one of two paths, and a warp whose lanes diverge executes both.",
    .source = {{"blakely", "divergent branching"}},
    .gpu = {.launch = branch_launch, .requested = branch_traffic},
    .run =
        [](const Call& call) {
          BranchBodies::pick(call.params.at("body"), [&](auto body) { run_branches(call, branch_if_else<body>); });
        },
});

}  // namespace
}  // namespace rung
