/// The same order of nodes by a loop and an array of waiting nodes, as long as the largest depth. The array is in local
/// memory, like the stack of a recursion, but a waiting node takes 4 bytes, and nothing is called.
#include "gpu/tree_walk/trees.hpp"

namespace rung {
namespace {

__global__ void tree_own_stack(const mem<std::uint32_t>* tree, mem<std::uint32_t>* sum, int n, int depth) {
  const int i = blockIdx.x * kTreeThreads + threadIdx.x;
  if (i >= n) return;
  const std::uint32_t root = tree[i];
  std::uint32_t waiting[kMostDepth];  // right children, one of each level at most
  int count = 0;
  std::uint32_t node = 1, total = 0;
  while (true) {
    const std::uint32_t value = node_value(root, node);
    total += value;
    const int level = 31 - __clz(static_cast<int>(node));
    if (has_children(value, depth - level)) {
      waiting[count++] = 2 * node + 1;
      node = 2 * node;
    } else if (count > 0) {
      node = waiting[--count];
    } else {
      break;
    }
  }
  sum[i] = total;
}

const bool added = add_gpu_kernel({
    .name = "gpu/tree_walk/own_stack",
    .order = 20,
    .title = "loop with a stack",
    .idea = "A loop that keeps the nodes still to be visited in an array.",
    .source = {{"imam2022", "Code executed on GPU"}},
    .type = Type::uint32,
    .gpu = {.launch = tree_launch, .requested = tree_traffic},
    .run =
        [](const Call& call) {
          launch(call, tree_own_stack, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 trees_of(call), depth_of(call));
        },
});

}  // namespace
}  // namespace rung
