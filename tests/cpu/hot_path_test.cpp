/// A call in a hot loop must not start threads, allocate memory, or take longer than the product itself.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "common/harness/workload.hpp"
#include "common/machine/target.hpp"
#include "tests/quiet_machine.hpp"

namespace rung {
namespace {

Call call_of(const Kernel& kernel, const Params& sizes) {
  Call call{.params = with_tunables(kernel, {})};
  for (const auto& [name, value] : sizes) call.params.set(name, value);
  return call;
}

/// Our own FP32 products of this machine, from the textbook up; libraries may do as they please.
std::vector<const Kernel*> rungs() {
  std::vector<const Kernel*> all;
  for (const Kernel* kernel : match_kernels("cpu/matmul/*"))
    if (!kernel->is_library && kernel->type == Type::fp32) all.push_back(kernel);
  return all;
}

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

TEST(HotPath, StartsNoThreadAndTouchesNoNewMemory) {
  const auto host = open_host();
  for (const Kernel* kernel : rungs())
    for (const std::int64_t n : {64, 200}) {
      const Problem& matmul = problem_of(*kernel);
      const Params sizes = matmul.complete({{"n", n}});
      Workload work(*host, *kernel, matmul, call_of(*kernel, sizes));
      ASSERT_TRUE(work.verify(HostInputs(matmul, sizes, random_reals(), 3)).passed());
      for (int i = 0; i < 20; ++i) host->run(*kernel, work.call());
      const std::ptrdiff_t threads = threads_of_this_process();
      // A page or two are the system's own (it moves pages, or looks whether they are used), and where threads take
      // blocks as they come, one may get its first, and with it its workspace, at any time: but once.
      long least = page_faults();
      for (int batch = 0; batch < 5; ++batch) {
        const long faults = page_faults();
        for (int i = 0; i < 50; ++i) host->run(*kernel, work.call());
        least = std::min(least, page_faults() - faults);
      }
      EXPECT_LE(least, 8) << kernel->name << " n:" << n;
      EXPECT_EQ(threads_of_this_process(), threads) << kernel->name << " n:" << n;
    }
}

/// 2 x 64^3 operations are 5.1 microseconds of one AVX2 core's peak at 3.2 GHz, so that it takes two, or wider vectors.
/// A shared machine is allowed 25, since its cores are not always there.
TEST(HotPath, TheTopRungMultiplies64By64InFiveMicroseconds) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers take their time";
#endif
  const Kernel& top = *rungs().back();
  const auto host = open_host();
  const Problem& matmul = find_problem("matmul");
  const Params sizes = matmul.complete({{"n", 64}});
  Workload work(*host, top, matmul, call_of(top, sizes));
  const std::int64_t bits = work.call().params.at("simd") * omp_get_max_threads();
  if (bits < 512) GTEST_SKIP() << "too few vector units: " << bits << " bits in all";
  ASSERT_TRUE(work.verify(HostInputs(matmul, sizes, random_reals(), 3)).passed());
  const double allowed = is_quiet_machine() ? 5e-6 : 25e-6;
  double least = 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (least > allowed && std::chrono::steady_clock::now() < end)  // another process may take the cores for a while
    least = std::min(least, host->time(top, work.call(), 200, Mode::hot) / 200);
  if (!is_quiet_machine() && least > allowed)
    GTEST_SKIP() << "this machine is too busy for a test: " << least * 1e6
                 << " us at best; set RUNG_QUIET_MACHINE=1 where it is not";
  EXPECT_LE(least, allowed) << top.name;
}

}  // namespace
}  // namespace rung
