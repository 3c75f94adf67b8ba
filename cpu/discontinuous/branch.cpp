/// A branch for every element, with the C library's sine behind it. The processor predicts the branch and continues; a
/// misprediction discards the work since, some 15 to 20 cycles. The prediction is nearly always right where the signs
/// are sorted, and wrong for half of the elements where they are random. The call of a function keeps the compiler from
/// evaluating both sides.
#include <cmath>

#include "common/problem/discontinuous.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

float total(float a, float b, std::int64_t passes) {
  float sum = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    if (a < 0)
      sum += 2 * a;
    else
      sum += std::sin(a) + b;
    a *= kDiscontinuousNudge;
  }
  return sum;
}

void evaluate(const Call& call) {
  const auto *a = call.operand<const float>(0), *b = call.operand<const float>(1);
  auto* c = call.operand<float>(2);
  const std::int64_t n = call.params.at("n"), passes = call.params.at("passes");
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) c[i] = total(a[i], b[i], passes);
}

const bool added = add_kernel({
    .name = "cpu/discontinuous/branch",
    .order = 10,
    .title = "branch",
    .idea = "A branch for every element, on all threads: a misprediction costs the processor a restart.",
    .source = {{"blakely", "discontinuous function"}},
    .run = evaluate,
});

}  // namespace
}  // namespace rung
