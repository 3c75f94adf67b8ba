/// No stack at all: a node's number determines the next node, so that everything fits into registers. Not every
/// recursion can be removed like this; where it can, no local memory is needed.
#include "gpu/tree_walk/trees.hpp"

namespace rung {
namespace {

__global__ void tree_loop(const mem<std::uint32_t>* tree, mem<std::uint32_t>* sum, int n, int depth) {
  const int i = blockIdx.x * kTreeThreads + threadIdx.x;
  if (i < n) sum[i] = tree_sum(tree[i], depth);
}

const bool added = add_gpu_kernel({
    .name = "gpu/tree_walk/loop",
    .order = 30,
    .title = "loop without a stack",
    .idea = "A loop that computes the next node from the number of the last one, in registers alone.",
    .source = {{"imam2022", "Code executed on GPU"}},
    .type = Type::uint32,
    .gpu = {.launch = tree_launch, .requested = tree_traffic},
    .run =
        [](const Call& call) {
          launch(call, tree_loop, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 trees_of(call), depth_of(call));
        },
});

}  // namespace
}  // namespace rung
