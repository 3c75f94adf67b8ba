/// The walk without a stack, compiled from the same lines as the GPU's.
#include "common/problem/tree_walk.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/tree_walk/loop",
    .order = 20,
    .title = "loop without a stack",
    .idea = "A loop that computes the next node from the number of the last one, on all threads.",
    .source = {{"imam2022", "Code executed on GPU"}},
    .type = Type::uint32,
    .run =
        [](const Call& call) {
          const auto* tree = call.operand<const std::uint32_t>(0);
          auto* sum = call.operand<std::uint32_t>(1);
          const int depth = static_cast<int>(call.params.at("depth"));
#pragma omp parallel for schedule(dynamic, 64)
          for (std::int64_t i = 0; i < call.params.at("n"); ++i) sum[i] = tree_sum(tree[i], depth);
        },
});

}  // namespace
}  // namespace rung
