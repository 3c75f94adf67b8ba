/// No kernel of the suite does what CUDA leaves undefined, in any order of its threads: the hazard checks are silent
/// on all of them, and the results are right.
#include <gtest/gtest.h>

#include "common/problem/problem.hpp"
#include "common/emulator/emulator.hpp"

namespace rung {
namespace {

/// Small sizes of a problem, some of them odd.
std::vector<Params> small_sizes(const Problem& problem) {
  if (problem.name == "matmul") return {{{"n", 1}}, {{"n", 32}}, {{"n", 37}}, {{"m", 33}, {"n", 20}, {"k", 45}}};
  if (problem.name == "read") return {{{"bytes", 256}, {"passes", 1}}, {{"bytes", 33 * 256}, {"passes", 3}}};
  if (problem.name == "copy") return {{{"bytes", 1024}}, {{"bytes", 33 * 1024}}};
  if (problem.name == "fma") return {{{"chains", 1024}, {"iterations", 64}}, {{"chains", 5120}, {"iterations", 64}}};
  return {{{"n", 1}}, {{"n", 256}}, {{"n", 1000}}};
}

/// Every combination of the kernel's tunables, of long lists only both ends.
std::vector<Params> variants_of(const Kernel& kernel) {
  std::vector<Params> variants{Params{}};
  for (const Tunable& tunable : kernel.tunables) {
    std::vector<std::int64_t> values = tunable.values;
    if (values.size() > 4) values = {values.front(), values[1], values.back()};
    std::vector<Params> more;
    for (const Params& variant : variants)
      for (const std::int64_t value : values) {
        more.push_back(variant);
        more.back().set(tunable.name, value);
      }
    variants = more;
  }
  return variants;
}

TEST(SuiteHazards, NoKernelHasAny) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.side() != "gpu" || !kernel.not_emulated.empty()) continue;
    int checked = 0;
    for (const Params& sizes : small_sizes(find_problem(kernel.family())))
      for (const Params& variant : variants_of(kernel)) {
        Params given = sizes;
        for (const auto& [name, value] : variant) given.set(name, value);
        if (!refusal(kernel, emulated_params(kernel, given)).empty()) continue;
        for (const Order order : {Order::forward, Order::reverse, Order::random}) {
          SCOPED_TRACE(kernel.name + "/" + given.text() + ", order " + std::to_string(static_cast<int>(order)));
          const Counts counts = count(kernel, given, {.order = order, .counting = false, .hazards = true});
          EXPECT_TRUE(counts.findings.empty()) << counts.findings.front().text();
          EXPECT_TRUE(counts.check.passed()) << counts.check.failure;
          ++checked;
        }
      }
    EXPECT_GT(checked, 0) << kernel.name << " refused every size";
  }
}

}  // namespace
}  // namespace rung
