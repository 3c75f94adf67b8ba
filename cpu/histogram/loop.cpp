/// One thread and one set of counters. If a value comes again soon, its counter has to be stored and loaded again
/// before it can be counted: several cycles, which limit the rate if most values are equal.
#include <algorithm>

#include "common/problem/histogram.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

void count_loop(const Call& call) {
  const auto* values = call.operand<const unsigned char>(0);
  auto* counts = call.operand<std::uint32_t>(1);
  const std::int64_t n = call.params.at("n");
  std::fill_n(counts, kBins, 0u);
  for (std::int64_t i = 0; i < n; ++i) ++counts[values[i]];
}

const bool added = add_kernel({
    .name = "cpu/histogram/loop",
    .order = 10,
    .title = "loop",
    .idea = "One thread, one set of counters, one value at a time.",
    .source = {{"pmpp", "section 9.1"}},
    .type = Type::int8,
    .cpu = {.is_serial = true},
    .run = count_loop,
});

}  // namespace
}  // namespace rung
