/// Each path is a separate function, called through a pointer that a thread chooses: the choice is data, but the call
/// is still a branch. All lanes of a warp that have the same pointer make the call together, and a warp whose lanes
/// have both pointers calls twice. Compared with a branch, the call also costs the jump to an address in a register,
/// the values passed by the calling convention, and optimisations that the compiler cannot make across it. Floor: the
/// FP32 units' rate, or half of it where the lanes of a warp diverge.
/// Source: Zhou, "Functional Declarations": care with calls through pointers, as thousands of threads follow them.
#include "gpu/branches/ways.hpp"

namespace rung {
namespace {

using Way = reg<float> (*)(reg<float>);

template <int Body>
__device__ [[gnu::noinline]] reg<float> first_way(reg<float> value) {
  count_way();
  step<Body>(value, kFirstFactor, kFirstTerm);
  return value;
}

template <int Body>
__device__ [[gnu::noinline]] reg<float> second_way(reg<float> value) {
  count_way();
  step<Body>(value, kSecondFactor, kSecondTerm);
  return value;
}

template <int Body>
__global__ void branch_pointer(const mem<float>* x, mem<float>* y, int n, int rounds, int group, int taken) {
  const int i = blockIdx.x * kBranchThreads + threadIdx.x;
  if (i >= n) return;
  reg<float> value = x[i];
  int place = first_place(i, group, taken);
  for (int round = 0; round < rounds; ++round) {
    const Way way = place < taken ? first_way<Body> : second_way<Body>;
    value = way(value);
    place = next_place(place, taken);
  }
  y[i] = value;
}

const bool added = add_gpu_kernel({
    .name = "gpu/branches/pointer",
    .order = 40,
    .title = "call by pointer",
    .idea = "Each path is a function, and each thread calls the one that its pointer names.",
    .source = {{"zhou2015", "Functional Declarations"}},
    .gpu = {.launch = branch_launch, .requested = branch_traffic},
    .run =
        [](const Call& call) {
          BranchBodies::pick(call.params.at("body"), [&](auto body) { run_branches(call, branch_pointer<body>); });
        },
});

}  // namespace
}  // namespace rung
