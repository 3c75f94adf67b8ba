/// One parallel region per step: the CPU's counterpart of a launch. Its threads spin from one region to the next.
#include "common/problem/launches.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/launches/regions",
    .order = 10,
    .title = "parallel regions",
    .idea = "A parallel region of OpenMP for each step, the counterpart of a launch.",
    .source = {{"openmp", "parallel construct"}},
    .type = Type::uint32,
    .run =
        [](const Call& call) {
          const auto* from = call.operand<const std::uint32_t>(0);
          auto* y = call.operand<std::uint32_t>(1);
          const std::int64_t n = call.params.at("n");
          for (std::int64_t step = 0; step < call.params.at("launches"); ++step, from = y)
#pragma omp parallel for schedule(static)
            for (std::int64_t i = 0; i < n; ++i) y[i] = scrambled_word(from[i]);
        },
});

}  // namespace
}  // namespace rung
