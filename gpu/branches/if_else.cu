/// The branch as it is written: if and else. Where all lanes of a warp go one way, the warp skips the other. Where they
/// part, it walks both, each with the lanes that belong there, and takes as long as both together. The compiler may
/// turn a short branch into instructions that every lane issues and only some complete, or into a choice between
/// values. Floor: the FP32 units' rate, or half of it where the lanes of a warp part.
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
    .idea = "A branch: each thread takes one of two ways, and a warp whose lanes part walks both.",
    .source = {{"blakely", "divergent branching"}},
    .gpu = {.launch = branch_launch, .requested = branch_traffic},
    .run =
        [](const Call& call) {
          BranchBodies::pick(call.params.at("body"), [&](auto body) { run_branches(call, branch_if_else<body>); });
        },
});

}  // namespace
}  // namespace rung
