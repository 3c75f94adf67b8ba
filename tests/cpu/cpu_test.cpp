/// The CPU's products beyond the test sizes that every kernel is verified at: leading dimensions, threads, SIMD widths;
/// the peers use the given number of threads.
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "common/harness/workload.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/machine/target.hpp"
#include "cpu/matmul/micro_kernel.hpp"

namespace rung {
namespace {

Params with_sizes(Params params, const Params& sizes) {
  for (const auto& [name, value] : sizes) params.set(name, value);
  return params;
}

/// Why this machine cannot run the kernel so; empty if it can.
std::string refusal_of(const Kernel& kernel, const Params& tunables) {
  return refusal(kernel, with_sizes(tunables, problem_of(kernel).complete({{"n", 64}})));
}

/// One set of values of the tunables after another: each value of each tunable, the others at their defaults; without
/// those that this machine has no vectors for.
std::vector<Params> tunings(const Kernel& kernel) {
  std::vector<Params> all = {with_tunables(kernel, {})};
  for (const Tunable& tunable : kernel.tunables)
    for (const Value& value : tunable.values) all.push_back(with_tunables(kernel, {{tunable.name, value}}));
  std::erase_if(all, [&](const Params& tunables) { return !refusal_of(kernel, tunables).empty(); });
  return all;
}

/// Verifies a kernel with guard bands and poisoned outputs on both fills; the failure, or empty.
std::string failure(Target& host, const Kernel& kernel, const Params& tunables, const Params& given) {
  const Problem& problem = problem_of(kernel);
  const Params sizes = problem.complete(given);
  Workload workload(host, kernel, problem, {.params = with_sizes(tunables, sizes)});
  for (const DataSet& fill : {integers(), random_reals()}) {
    const Check check = workload.verify(HostInputs(problem, sizes, fill, 7));
    if (!check.passed()) return check.failure.empty() ? "error beyond its bound" : check.failure;
  }
  return "";
}

/// The kernels of both products, those that this machine can run.
std::vector<const Kernel*> matmul_kernels() {
  std::vector<const Kernel*> all;
  for (const Kernel* kernel : match_kernels("cpu/matmul/*"))
    if (refusal_of(*kernel, with_tunables(*kernel, {})).empty()) all.push_back(kernel);
  return all;
}

bool has_micro_kernel() { return !refuse_simd({{"simd", 128}}).starts_with("built without "); }

TEST(CpuMatmul, EveryWidthOfVectorsIsRightInPartsOfLargerMatrices) {
  if (!has_micro_kernel()) GTEST_SKIP() << "built without Highway";
  const auto host = open_host();
  int widths = 0;
  for (const Kernel* kernel : matmul_kernels())
    if (kernel->is_general)
      for (const Params& tunables : tunings(*kernel)) {
        widths += tunables.has("simd");
        for (const auto& [m, n, k] : {std::array{2, 100, 17}, {31, 45, 70}, {64, 33, 1100}})
          EXPECT_EQ(failure(*host, *kernel, tunables,
                            {{"m", m},
                             {"n", n},
                             {"k", k},
                             {"lda", k + 3},
                             {"ldb", n + 5},
                             {"ldc", n + 1},
                             {"alpha", -2},
                             {"beta", 3},
                             {"shift", 5}}),
                    "")
              << kernel->name << " " << tunables.text();
      }
  EXPECT_GT(widths, 4);
}

/// Products with enough rows that threads take parts of them as they become free, for any number of threads.
TEST(CpuMatmul, ManyRowsAreRightOnAnyNumberOfThreads) {
  const auto host = open_host();
  for (const Kernel* kernel : matmul_kernels()) {
    if (!kernel->is_general) continue;
    for (const int threads : {1, 2, 3, 5}) {
      const UseThreads scope(threads);
      EXPECT_EQ(failure(*host, *kernel, with_tunables(*kernel, {}),
                        {{"m", 1501}, {"n", 210}, {"k", 130}, {"alpha", 2}, {"beta", -1}}),
                "")
          << kernel->name << " on " << threads << " threads";
    }
  }
}

/// Inside a parallel region the kernels' own regions have a team of one, whatever they request.
TEST(CpuMatmul, FewerThreadsThanAskedForAreRight) {
  const auto host = open_host();
  for (const Kernel* kernel : matmul_kernels()) {
    if (kernel->is_library || !kernel->is_general) continue;
    const UseThreads scope(4);
    std::string found;
#pragma omp parallel num_threads(2)
#pragma omp single
    found = failure(*host, *kernel, with_tunables(*kernel, {}), {{"m", 1501}, {"n", 210}, {"k", 130}});
    EXPECT_EQ(found, "") << kernel->name;
  }
}

/// Rows that fall into the same sets of the L1, or nearly: fused packs them, though they are few.
TEST(CpuMatmul, RowsAboutAPowerOfTwoApartAreRight) {
  const auto host = open_host();
  for (const Kernel* kernel : matmul_kernels()) {
    if (!kernel->is_general) continue;
    for (const Params& tunables : tunings(*kernel))
      for (const int m : {1, 6, 61, 150})
        for (const int lda : {2047, 2048})
          EXPECT_EQ(failure(*host, *kernel, tunables, {{"m", m}, {"n", 333}, {"k", 1030}, {"lda", lda}, {"beta", 1}}),
                    "")
              << kernel->name << " " << tunables.text() << " m " << m << " lda " << lda;
  }
}

/// A width is refused with what the CPU has instead, and never run: it would be an illegal instruction.
TEST(CpuMatmul, WidthsThatTheCpuLacksAreRefused) {
  if (!has_micro_kernel()) GTEST_SKIP() << "built without Highway";
  const Kernel& kernel = find_kernel("cpu/matmul/fused");
  const bool has_avx512 = cpu_info().simd == "AVX-512";
  EXPECT_EQ(refusal_of(kernel, with_tunables(kernel, {{"simd", 512}})).empty(), has_avx512);
  EXPECT_THROW(with_tunables(kernel, {{"simd", 1024}}), Error);
  const std::int64_t widest = with_tunables(kernel, {}).at("simd");
  EXPECT_EQ(widest, has_avx512 ? 512 : cpu_info().simd == "AVX2" ? 256 : 128);
}

TEST(CpuMatmul, MoreThreadsThanWorkOrCores) {
  const auto host = open_host();
  omp_set_num_threads(5);
  for (const Kernel* kernel : matmul_kernels())
    EXPECT_EQ(failure(*host, *kernel, with_tunables(*kernel, {}), {{"n", 70}}), "") << kernel->name;
  omp_set_num_threads(cpu_threads());
}

/// CPU seconds that each thread of this process has used.
std::map<std::string, double> thread_seconds() {
  std::map<std::string, double> seconds;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "schedstat");
    if (double nanoseconds = 0; file >> nanoseconds) seconds[task.path().filename()] = nanoseconds * 1e-9;
  }
  return seconds;
}

struct Busy {
  int threads = 0;     ///< that did at least a quarter as much as the busiest while the kernel ran for a while
  int processors = 0;  ///< on which one or another of them may run
};

Busy busy_threads(Target& host, const Kernel& kernel) {
  const Problem& problem = problem_of(kernel);
  const Params sizes = problem.complete({{"n", 512}});
  Workload workload(host, kernel, problem, {.params = with_sizes(with_tunables(kernel, {}), sizes)});
  workload.verify(HostInputs(problem, sizes, random_reals(), 7));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // other pools' threads spin for a while, then sleep
  const auto before = thread_seconds();
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(150)) host.run(kernel, workload.call());
  std::map<std::string, double> used = thread_seconds();
  double most = 0;
  for (auto& [thread, seconds] : used) {
    if (before.contains(thread)) seconds -= before.at(thread);
    most = std::max(most, seconds);
  }
  Busy busy;
  cpu_set_t processors, all;
  CPU_ZERO(&all);
  for (const auto& [thread, seconds] : used) {
    if (seconds < most / 4) continue;
    ++busy.threads;
    if (sched_getaffinity(std::stoi(thread), sizeof processors, &processors) == 0) CPU_OR(&all, &all, &processors);
  }
  busy.processors = CPU_COUNT(&all);
  return busy;
}

TEST(CpuMatmul, LibrariesUseAsManyThreadsAsOpenMp) {
  if (thread_seconds().empty()) GTEST_SKIP() << "the system does not report the time that threads used";
  const auto host = open_host();
  const int all = std::min(omp_get_num_procs(), 4);  // few enough that each has a share of a product of size 512
  for (const Kernel* kernel : matmul_kernels()) {
    if (!kernel->is_library) continue;
    for (const int threads : {1, all, 1}) {
      omp_set_num_threads(threads);
      const Busy busy = busy_threads(*host, *kernel);
      EXPECT_EQ(busy.threads, threads) << kernel->name;
      EXPECT_GE(busy.processors, threads) << kernel->name << ": its threads queue for too few processors";
    }
  }
  omp_set_num_threads(cpu_threads());
}

}  // namespace
}  // namespace rung
