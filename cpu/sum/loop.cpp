/// One loop on one thread. Each addition waits for the previous one, four cycles or so, and a compiler must not change
/// the order of float additions: a fraction of the rate at which one core can read.
#include "common/registry.hpp"

namespace rung {
namespace {

void sum_loop(const Call& call) {
  const auto* x = call.operand<const float>(0);
  const std::int64_t n = call.params.at("n");
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  *call.operand<float>(1) = sum;
}

const bool added = add_kernel({
    .name = "cpu/sum/loop",
    .order = 5,
    .title = "loop",
    .idea = "One thread, one addition after the other, each waiting for the one before.",
    .source = {{"pmpp", "section 10.1"}},
    .cpu = {.is_serial = true},
    .run = sum_loop,
});

}  // namespace
}  // namespace rung
