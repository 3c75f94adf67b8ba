/// One loop on one thread. Each addition waits for the previous one, four cycles or so, while memory could deliver many
/// elements in that time; a compiler must not change the order of float additions.
#include "common/registry.hpp"

namespace rung {
namespace {

void scan_loop(const Call& call) {
  const auto* x = call.operand<const float>(0);
  auto* y = call.operand<float>(1);
  const std::int64_t n = call.params.at("n");
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) y[i] = sum += x[i];
}

const bool added = add_kernel({
    .name = "cpu/prefix_sum/loop",
    .order = 10,
    .title = "loop",
    .idea = "One thread, one addition after the other, each waiting for the one before.",
    .source = {{"pmpp", "section 11.1"}},
    .cpu = {.is_serial = true},
    .run = scan_loop,
});

}  // namespace
}  // namespace rung
