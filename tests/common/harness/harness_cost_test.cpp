/// The cost of the harness is not visible in the time of a kernel.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "common/harness/measure.hpp"
#include "common/harness/statistics.hpp"
#include "common/harness/workload.hpp"
#include "tests/quiet_machine.hpp"

namespace rung {
namespace {

/// Median seconds of one run: in a bare loop and through the harness, interleaved.
std::pair<double, double> bare_and_harness(const Kernel& kernel, int n) {
  const Problem& problem = problem_of(kernel);
  const Params sizes = problem.complete({{"n", n}});
  const std::unique_ptr<Target> host = open_host();
  Workload work(*host, kernel, problem, {.params = sizes});
  EXPECT_TRUE(work.verify(HostInputs(problem, sizes, random_reals(), 1)).passed());
  std::vector<double> bare, harness;
  for (int round = 0; round < 15; ++round) {
    const int runs = 20;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) kernel.run(work.call());
    bare.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs);
    const Measurement one = measure("cost", *host, kernel, work.call(), Mode::hot, {}, {1, bare.back() * runs});
    harness.push_back(one.samples.front().seconds);
  }
  return {median(bare), median(harness)};
}

TEST(HarnessCost, IsBelowThreePercentForTheLibraries) {
  if (!is_quiet_machine()) GTEST_SKIP() << "a shared machine cannot resolve three percent: set RUNG_QUIET_MACHINE=1";
  for (const Kernel* kernel : match_kernels("cpu/matmul/*"))
    if (kernel->is_library)
      for (const int n : {256, 1024}) {
        const auto [bare, harness] = bare_and_harness(*kernel, n);
        std::printf("%s n:%d harness / bare = %.4f\n", kernel->name.c_str(), n, harness / bare);
        EXPECT_LE(harness / bare, 1.03) << kernel->name << " n:" << n;
      }
}

/// The machine's state is read for each sample outside of the timed interval.
TEST(HarnessCost, LooksAtTheMachineAreNotTimed) {
  const std::unique_ptr<Target> host = open_host();
  Kernel nothing;
  nothing.name = "cpu/none/nothing";
  nothing.run = [](const Call&) {};
  double least = 1;
  for (int i = 0; i < 50; ++i) least = std::min(least, host->time(nothing, {}, 1, Mode::hot));
  EXPECT_LT(least, 2e-6) << "seconds: a look takes longer than this";
  EXPECT_GT(host->disturbance().seconds, 0);
}

}  // namespace
}  // namespace rung
