/// Every CPU kernel that this machine can run is right at its problem's test sizes, on every data set, between guard
/// bands and over poisoned outputs: each variant on all threads, the default one also on one thread and on three.
#include "tests/every_kernel.hpp"

#include "common/harness/workload.hpp"
#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

class EveryCpuKernel : public testing::TestWithParam<const Kernel*> {};

TEST_P(EveryCpuKernel, IsRight) {
  const Kernel& kernel = *GetParam();
  const auto host = open_host();
  int checked = 0;
  for (const int threads : {1, 3, 0}) {
    const UseThreads scope(threads);
    for (const Point& point : cases_of(kernel)) {
      if (threads != 0 && point.tunables != with_tunables(kernel, {})) continue;
      SCOPED_TRACE(point.name() + " on " + std::to_string(threads) + " threads");
      Workload work(*host, kernel, *point.problem, {.params = point.params()});
      for (const DataSet& data : point.problem->data) {
        const HostInputs inputs(*point.problem, point.sizes, data, 7);
        const Check first = work.verify(inputs);
        EXPECT_TRUE(first.passed()) << data.name << ": " << first.reason();
        host->run(kernel, work.call());
        const Check again = work.recheck(inputs);
        EXPECT_TRUE(again.passed()) << data.name << ", again: " << again.reason();
        ++checked;
      }
    }
  }
  if (checked == 0) GTEST_SKIP() << kernel.name << " does not run on this CPU";
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryCpuKernel, testing::ValuesIn(match_kernels("cpu/*")), test_name);

}  // namespace
}  // namespace rung
