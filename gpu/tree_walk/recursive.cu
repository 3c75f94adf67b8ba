/// A device function that calls itself for both children. Every call keeps the values that it needs later, and its
/// return address, on the thread's stack: local memory whose size the compiler cannot determine. By default CUDA gives
/// each thread 1 KiB (cudaLimitStackSize); beyond that the kernel fails. Recursion has been allowed since compute
/// capability 2.0. Source: Zhou, CUDA/GPU Programming (2), "Functional declarations".
#include "gpu/simt/heap_and_stack.hpp"
#include "gpu/tree_walk/trees.hpp"

namespace rung {
namespace {

__device__ [[gnu::noinline]] std::uint32_t sum_below(std::uint32_t tree, std::uint32_t node, int levels_below) {
  const std::uint32_t value = node_value(tree, node);
  if (!has_children(value, levels_below)) return value;
  return value + sum_below(tree, 2 * node, levels_below - 1) + sum_below(tree, 2 * node + 1, levels_below - 1);
}

__global__ void tree_recursive(const mem<std::uint32_t>* tree, mem<std::uint32_t>* sum, int n, int depth) {
  const int i = blockIdx.x * kTreeThreads + threadIdx.x;
  if (i < n) sum[i] = sum_below(tree[i], 1, depth);
}

const bool added = add_gpu_kernel({
    .name = "gpu/tree_walk/recursive",
    .order = 10,
    .title = "recursion",
    .idea = "A function that calls itself for both children of a node, as one would write it on a CPU.",
    .source = {{"zhou2015", "Functional declarations"}, {"imam2022", "Code executed on GPU"}},
    .type = Type::uint32,
    .gpu = {.launch = tree_launch, .requested = tree_traffic},
    .run =
        [](const Call& call) {
          need_device_stack();
          launch(call, tree_recursive, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 trees_of(call), depth_of(call));
        },
});

}  // namespace
}  // namespace rung
