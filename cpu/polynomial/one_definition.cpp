/// The class of common/problem/polynomial.hpp, compiled for this CPU: the compiler turns the loop over elements into
/// vectors, and fuses products with sums where the processor can and no option forbids it.
#include "common/problem/polynomial.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

template <Rounding kHow>
void evaluate(const float* x, float* y, std::int64_t n) {
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < n; ++i) y[i] = kSine.at<kHow>(x[i]);
}

const bool added = add_kernel({
    .name = "cpu/polynomial/one_definition",
    .order = 10,
    .title = "one definition",
    .idea = "A class whose method is compiled for the CPU and for the GPU, from the same lines.",
    .source = {{"blakely", "CUDA extensions to C++"}, {"zhou2015", "Functional declarations"}},
    .tunables = {{"rounding", words({"contracted", "fused", "separate"})}},
    .run =
        [](const Call& call) {
          with_rounding(call.params.at("rounding"), [&](auto how) {
            evaluate<how>(call.operand<const float>(0), call.operand<float>(1), call.params.at("n"));
          });
        },
});

}  // namespace
}  // namespace rung
