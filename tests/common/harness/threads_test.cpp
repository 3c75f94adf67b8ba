/// The axis `threads`: the threads of a kernel, its name and entries, and the roofs of one thread.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <map>

#include "common/harness/experiment.hpp"
#include "common/harness/point_runner.hpp"
#include "common/harness/results.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/cpu_info.hpp"
#include "tests/every_kernel.hpp"

namespace rung {
namespace {

TEST(UseThreads, HoldsUntilTheEndOfTheBlock) {
  const int before = omp_get_max_threads(), all = cpu_threads();
  {
    const UseThreads three(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    EXPECT_EQ(cpu_threads(), all) << "what the program found";
    {
      const UseThreads every(0);
      EXPECT_EQ(omp_get_max_threads(), all);
    }
    EXPECT_EQ(omp_get_max_threads(), 3);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(Threads, AreAnAxisOfCpuKernelsAlone) {
  const std::string most = std::to_string(cpu_threads() + 3);
  const auto points = adhoc_experiment({"cpu/matmul/naive", "gpu/matmul/naive"}, {"n=4", "threads=1,0," + most}).points;
  std::map<std::string, int> threads;
  for (const Point& point : points) threads[point.name()] = point.threads;
  EXPECT_EQ(threads.at("cpu/matmul/naive/n:4/threads:1"), 1);
  EXPECT_EQ(threads.at("cpu/matmul/naive/n:4/threads:" + std::to_string(cpu_threads())), cpu_threads());
  EXPECT_EQ(threads.at("cpu/matmul/naive/n:4/threads:" + most), cpu_threads() + 3);
  EXPECT_EQ(std::count_if(points.begin(), points.end(), [](const Point& p) { return p.kernel->side() == "gpu"; }), 1);
  for (const auto& [name, count] : threads) EXPECT_EQ(count == 0, name.starts_with("gpu/")) << name;
}

TEST(Threads, AreAllWhereNothingIsSaidAndTheNameIsSilent) {
  const Point point = adhoc_experiment({"cpu/matmul/naive"}, {"n=4", "mode=cold"}).points.at(0);
  EXPECT_EQ(point.name(), "cpu/matmul/naive/n:4/mode:cold");
  EXPECT_EQ(point.threads, cpu_threads());
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=4", "mode=cold", "threads=2"}).points.at(0).name(),
            "cpu/matmul/naive/n:4/mode:cold/threads:2");
}

TEST(Threads, AndInterleaveRefuseOtherValues) {
  for (const char* axis : {"threads=-1", "threads=1025", "threads=9223372036854775807", "threads=all", "threads=[]",
                           "threads=1.5", "threads=true", "interleave=1", "interleave=yes", "interleave=[true]"})
    EXPECT_THROW(adhoc_experiment({"cpu/matmul/naive"}, {"n=4", axis}), Error) << axis;
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=4", "interleave=true"}).points.at(0).group, 1);
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=4", "interleave=false"}).points.at(0).group, 0);
}

/// A kernel's scratch memory per thread exists for all threads, also if these exceed the cores.
TEST(Threads, HaveScratchForAsManyAsThePointHas) {
  const std::unique_ptr<Target> host = open_host();
  int checked = 0;
  for (const Kernel* kernel : match_kernels("cpu/*")) {
    if (!kernel->scratch) continue;
    const Problem& problem = problem_of(*kernel);
    for (const Point& point : cases_of(*kernel)) {
      Workload work(*host, *kernel, problem, {.params = point.params()}, 3 * cpu_threads() + 1);
      const Check check = work.verify(HostInputs(problem, point.sizes, problem.data.front(), 1));
      EXPECT_TRUE(check.passed()) << kernel->name << " " << point.params().text() << ": " << check.failure;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

/// A kernel that records its number of threads, while it is verified and while it is timed.
TEST(Threads, AreSetWhileAPointIsMadeAndWhileItRuns) {
  Kernel kernel = find_kernel("cpu/matmul/naive");
  std::vector<int> seen;
  const auto naive = kernel.run;
  kernel.run = [&](const Call& call) {
    int team = 0;
#pragma omp parallel
#pragma omp single
    team = omp_get_num_threads();
    seen.push_back(team);
    naive(call);
  };
  kernel.cpu.is_serial = false;
  kernel.cpu.level_traffic = [](const Params&) { return LevelTraffic{.l1 = 1e6 * omp_get_max_threads(), .dram = 7e6}; };
  Point point = adhoc_experiment({"cpu/matmul/naive"}, {"n=4", "threads=3", "samples=6", "max_samples=6"}).points.at(0);
  point.kernel = &kernel;
  PointRunner runner(0, 1, {});
  const int before = omp_get_max_threads();
  const auto results = runner.run({&point});
  EXPECT_EQ(omp_get_max_threads(), before);
  ASSERT_GE(seen.size(), 8u);
  for (const int team : seen) ASSERT_EQ(team, 3);
  const Json& entry = results.at(0).entries.front();
  ASSERT_TRUE(entry.contains("bytes_l1_model")) << entry;
  EXPECT_EQ(entry.at("threads"), 3);
  EXPECT_EQ(entry.contains("oversubscribed"), usable_processors() < 3);
  EXPECT_EQ(entry.at("bytes_l1_model"), 3e6);
  EXPECT_EQ(entry.at("bytes_dram_model"), 7e6);
}

/// Sizes that depend on the machine depend on the point's threads.
TEST(Threads, GiveACeilingItsSizes) {
  const auto points = adhoc_experiment({"cpu/read/l1", "cpu/read/l2"}, {"threads=1,2"}).points;
  std::map<std::string, std::map<int, std::int64_t>> bytes;
  for (const Point& point : points) bytes[point.kernel->name][point.threads] = point.sizes.at("bytes");
  for (const auto& [kernel, by_threads] : bytes)
    if (cpu_info().l1d_bytes > 0 && cpu_info().l2_bytes > 0 && cpu_info().cores > 1) {
      EXPECT_EQ(by_threads.at(2), 2 * by_threads.at(1)) << kernel;
    }
}

TEST(Threads, BeyondTheProcessorsAreSaid) {
  Point point = adhoc_experiment({"cpu/matmul/naive"}, {"n=4"}).points.at(0);
  point.threads = usable_processors();
  EXPECT_FALSE(point_entry(point).contains("oversubscribed"));
  point.threads = usable_processors() + 1;
  EXPECT_EQ(point_entry(point).at("oversubscribed"), true);
}

Json entry_of(const std::string& kernel, int threads, double rate) {
  return {{"name", kernel + "/threads:" + std::to_string(threads)},
          {"kernel", kernel},
          {"threads", threads},
          {"gbytes_per_s", rate}};
}

/// The bandwidths by label.
std::map<std::string, double> roofs(int cpu_threads, const std::vector<Json>& entries,
                                    const std::string& side = "cpu") {
  const Json context{{"cpu_threads", cpu_threads},
                     {"kernels",
                      {{"cpu/read/dram", {{"side", "cpu"}, {"ceiling", {{"label", "DRAM"}, {"is_bandwidth", true}}}}},
                       {"gpu/read/dram", {{"side", "gpu"}, {"ceiling", {{"label", "HBM"}, {"is_bandwidth", true}}}}}}}};
  const Json all = ceilings(side, context, entries);
  std::map<std::string, double> found;
  if (all.is_null()) return found;
  for (const Json& roof : all["empirical"]["gbytes"]["data"]) found[roof[0]] = roof[1];
  return found;
}

TEST(Ceilings, OfOneThreadAreRoofsOfTheirOwn) {
  const std::string dram = "cpu/read/dram";
  const std::vector<Json> entries{entry_of(dram, 1, 90), entry_of(dram, 2, 60), entry_of(dram, 4, 50),
                                  entry_of(dram, 8, 70)};
  using Roofs = std::map<std::string, double>;
  EXPECT_EQ(roofs(4, entries), (Roofs{{"DRAM", 50}, {"DRAM (1 thread)", 90}})) << "other numbers are no roof";
  EXPECT_EQ(roofs(4, {entries[0]}), (Roofs{{"DRAM (1 thread)", 90}}));
  EXPECT_EQ(roofs(1, {entries[0]}), (Roofs{{"DRAM", 90}, {"DRAM (1 thread)", 90}})) << "one is all of them";
  EXPECT_EQ(roofs(4, {entries[1]}), Roofs{});
  EXPECT_EQ(roofs(4, {entry_of("gpu/read/dram", 1, 3000)}, "gpu"), (Roofs{{"HBM", 3000}}));
}

}  // namespace
}  // namespace rung
