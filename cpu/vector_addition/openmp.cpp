/// The same loop on all threads, each on its own contiguous part. Waking the threads costs more than a few thousand
/// elements; beyond the caches all cores together reach memory's bandwidth; a quarter is used for the lines of c, which
/// are fetched before they are overwritten.
#include "common/registry.hpp"

namespace rung {
namespace {

void add_openmp(const Call& call) {
  const auto *a = call.operand<const float>(0), *b = call.operand<const float>(1);
  auto* c = call.operand<float>(2);
  const std::int64_t n = call.params.at("n");
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

const bool added = add_kernel({
    .name = "cpu/vector_addition/openmp",
    .order = 20,
    .title = "OpenMP",
    .idea = "The loop divided among all threads.",
    .source = {{"openmp", "parallel for simd"}},
    .run = add_openmp,
});

}  // namespace
}  // namespace rung
