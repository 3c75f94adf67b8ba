/// The sum on all cores: each thread sums its own part with vector instructions, and OpenMP adds the threads' sums.
#include "common/registry.hpp"

namespace rung {
namespace {

void sum_openmp(const Call& call) {
  const auto* x = call.operand<const float>(0);
  const std::int64_t n = call.params.at("n");
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  *call.operand<float>(1) = sum;
}

const bool added = add_kernel({
    .name = "cpu/sum/openmp",
    .order = 10,
    .title = "OpenMP",
    .idea = "Each thread sums its part with vector instructions; OpenMP adds the threads' sums.",
    .source = {{"openmp", "reduction clause"}},
    .run = sum_openmp,
});

}  // namespace
}  // namespace rung
