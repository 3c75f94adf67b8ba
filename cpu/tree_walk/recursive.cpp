/// A function that calls itself, one tree after the other on each thread. A CPU predicts calls and returns well, and
/// the stack stays in its L1 cache.
#include "common/problem/tree_walk.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

[[gnu::noinline]] std::uint32_t sum_below(std::uint32_t tree, std::uint32_t node, int levels_below) {
  const std::uint32_t value = node_value(tree, node);
  if (!has_children(value, levels_below)) return value;
  return value + sum_below(tree, 2 * node, levels_below - 1) + sum_below(tree, 2 * node + 1, levels_below - 1);
}

const bool added = add_kernel({
    .name = "cpu/tree_walk/recursive",
    .order = 10,
    .title = "recursion",
    .idea = "A function that calls itself for both children of a node, on all threads.",
    .source = {{"imam2022", "Code executed on GPU"}},
    .type = Type::uint32,
    .run =
        [](const Call& call) {
          const auto* tree = call.operand<const std::uint32_t>(0);
          auto* sum = call.operand<std::uint32_t>(1);
          const int depth = static_cast<int>(call.params.at("depth"));
#pragma omp parallel for schedule(dynamic, 64)
          for (std::int64_t i = 0; i < call.params.at("n"); ++i) sum[i] = sum_below(tree[i], 1, depth);
        },
});

}  // namespace
}  // namespace rung
