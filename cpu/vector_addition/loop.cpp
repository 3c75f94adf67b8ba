/// One loop on one thread, which the compiler turns into vector instructions. Within the caches it is as fast as one
/// core can be; beyond them one core does not have enough requests in flight to use all of memory's bandwidth.
#include "common/registry.hpp"

namespace rung {
namespace {

void add_loop(const Call& call) {
  const auto *a = call.operand<const float>(0), *b = call.operand<const float>(1);
  auto* c = call.operand<float>(2);
  const std::int64_t n = call.params.at("n");
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

const bool added = add_kernel({
    .name = "cpu/vector_addition/loop",
    .order = 10,
    .title = "loop",
    .idea = "One thread and the compiler's vector instructions.",
    .source = {{"blakely"}},
    .cpu = {.is_serial = true},
    .run = add_loop,
});

}  // namespace
}  // namespace rung
