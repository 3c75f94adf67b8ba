/// The oracle of "tree_walk" visits the levels of a tree from the root down, which no kernel does: whole numbers, so
/// every sum must be equal.
#include "common/problem/tree_walk.hpp"

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kTreesLimit = std::int64_t{1} << 24;
const DataSet kBits{.name = "bits", .what = "random bits", .is_exact = true};

Params complete(const Params& given) {
  return {{"n", positive_size(given, "n", "n", kTreesLimit)},
          {"depth", positive_size(given, "depth", "depth", kMostDepth)}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto trees = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "tree", .elements = trees, .type = Type::uint32},
          {.name = "sum", .elements = trees, .type = Type::uint32, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* tree = static_cast<std::uint32_t*>(host[0]);
#pragma omp parallel for
  for (std::int64_t i = 0; i < sizes.at("n"); ++i)
    tree[i] = static_cast<std::uint32_t>(random_bits(seed, static_cast<std::uint64_t>(i)));
}

std::uint32_t sum_by_levels(std::uint32_t tree, int depth) {
  std::vector<std::uint32_t> level{1}, next;
  std::uint32_t sum = 0;
  for (int below = depth; !level.empty(); --below, level.swap(next), next.clear())
    for (const std::uint32_t node : level) {
      const std::uint32_t value = node_value(tree, node);
      sum += value;
      if (has_children(value, below)) next.insert(next.end(), {2 * node, 2 * node + 1});
    }
  return sum;
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n");
  const int depth = static_cast<int>(sizes.at("depth"));
  const auto* tree = static_cast<const std::uint32_t*>(host[0]);
  std::vector<std::uint32_t> want(static_cast<std::size_t>(n));
#pragma omp parallel for schedule(dynamic, 256)
  for (std::int64_t i = 0; i < n; ++i) want[i] = sum_by_levels(tree[i], depth);
  return [n, want = std::move(want)](std::span<const void* const> outputs) {
    return compare_elements("sum", static_cast<const std::uint32_t*>(outputs[1]), n,
                            [&](std::int64_t i) { return Expected{static_cast<double>(want[i])}; });
  };
}

const bool added = add_problem({
    .family = "tree_walk",
    .type = Type::uint32,
    .title = "Sums over trees",
    .metric = {.key = "trees_per_s",
               .unit = "tree/s",
               .amount = [](const Params& p) { return 1e9 * static_cast<double>(p.at("n")); }},
    .data = {kBits},
    .size_names = {"n", "depth"},
    .size_what = {{"depth", "levels of the trees"}},
    .test_sizes =
        {{{"n", 1}, {"depth", 1}}, {{"n", 33}, {"depth", 7}}, {{"n", 300}, {"depth", 10}}, {{"n", 7}, {"depth", 24}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_word,
});

}  // namespace
}  // namespace rung
