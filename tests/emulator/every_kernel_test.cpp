/// Every GPU kernel that can be emulated: it is right, requests the bytes that it declares, does at least the useful
/// operations, and does nothing that CUDA leaves undefined, in any order of its threads.
#include "tests/every_kernel.hpp"

#include <algorithm>
#include <memory>

#include "common/harness/count.hpp"
#include "common/harness/workload.hpp"

namespace rung {
namespace {

std::vector<const Kernel*> emulated_kernels() {
  std::vector<const Kernel*> found;
  for (const Kernel& kernel : kernels())
    if (kernel.side() == "gpu" && kernel.gpu.not_emulated.empty()) found.push_back(&kernel);
  return found;
}

/// Kernels for compute capability 9.0, whose tiles take long at any size, run with other values of the tunables than
/// the first only at the last two sizes.
std::vector<Point> emulated_cases_of(const Kernel& kernel) {
  std::vector<Point> cases = cases_of(kernel);
  if (kernel.gpu.min_compute_capability < 90) return cases;
  const auto& sizes = problem_of(kernel).test_sizes;
  const auto is_last = [&](const Point& point) {
    return std::any_of(sizes.end() - 2, sizes.end(),
                       [&](const Params& given) { return point.sizes == point.problem->complete(given); });
  };
  std::erase_if(cases, [&](const Point& point) {
    const Params params = point.params();
    const auto others = std::count_if(kernel.tunables.begin(), kernel.tunables.end(), [&](const Tunable& tunable) {
      return params.at(tunable.name) != tunable.values.front().number;
    });
    return others > 1 || (others == 1 && !is_last(point));
  });
  return cases;
}

constexpr double kLargestChecked = 25e3;  // bytes of operands: sizes of a few blocks

class EveryEmulatedKernel : public testing::TestWithParam<const Kernel*> {
 protected:
  void SetUp() override { ASSERT_FALSE(cases.empty()) << "it refuses every test size of its problem"; }
  const Kernel& kernel = *GetParam();
  const std::vector<Point> cases = emulated_cases_of(kernel);
};

TEST_P(EveryEmulatedKernel, RequestsTheBytesThatItDeclares) {
  for (const Point& point : cases) {
    SCOPED_TRACE(point.name());
    const auto [counts, check] = count(point);
    EXPECT_TRUE(check.passed()) << check.reason();
    ASSERT_TRUE(kernel.gpu.requested);
    const Traffic declared = kernel.gpu.requested(point.params());
    EXPECT_EQ(static_cast<double>(counts.bytes_loaded), declared.loaded);
    EXPECT_EQ(static_cast<double>(counts.bytes_stored), declared.stored);
    EXPECT_GE(static_cast<double>(counts.flops()), point.problem->flops(point.params()));
  }
}

TEST_P(EveryEmulatedKernel, HasNoHazardInAnyOrder) {
  for (const Point& point : cases) {
    if (point.problem->compulsory_bytes(point.params()) > kLargestChecked) continue;  // each access is checked, slowly
    for (const Order order : {Order::forward, Order::reverse, Order::random}) {
      SCOPED_TRACE(point.name() + ", order " + std::to_string(static_cast<int>(order)));
      const auto [counts, check] = count(point, {.order = order, .counting = false, .hazards = true});
      EXPECT_TRUE(counts.findings.empty()) << counts.findings.front().text();
      EXPECT_TRUE(check.passed()) << check.reason();
    }
  }
}

/// Runs on one data set after the other, and again, without any set-up in between: a kernel must leave its scratch
/// memory as the next call requires it.
TEST_P(EveryEmulatedKernel, IsRightOnEveryDataSetAgainAndAgain) {
  const std::unique_ptr<Target> emulator = open_emulator();
  for (const Point& point : cases) {
    SCOPED_TRACE(point.name());
    Call call{.params = point.params()};
    call.launch = kernel.gpu.launch(call.params);
    Workload work(*emulator, kernel, *point.problem, call);
    for (const DataSet& data : point.problem->data) {
      const HostInputs inputs(*point.problem, point.sizes, data, 20260101);
      const Check first = work.verify(inputs);
      EXPECT_TRUE(first.passed()) << data.name << ": " << first.reason();
      if (&data != &point.problem->data.back()) continue;
      for (int again = 0; again < 2; ++again) emulator->run(kernel, work.call());
      const Check last = work.recheck(inputs);
      EXPECT_TRUE(last.passed()) << data.name << ", again: " << last.reason();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryEmulatedKernel, testing::ValuesIn(emulated_kernels()), test_name);

}  // namespace
}  // namespace rung
