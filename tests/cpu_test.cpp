/// The CPU side: every registered kernel is right at awkward sizes, the ceilings measure what they say, the peers use
/// the threads that they are told to. No kernel is named in a list: the registry is.
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "common/harness/cpu_info.hpp"
#include "common/harness/target.hpp"
#include "common/harness/workload.hpp"

namespace rung {
namespace {

std::vector<const Kernel*> cpu_kernels(const std::string& family) { return match_kernels("cpu/" + family + "/*"); }

/// One set of values of the tunables after another: each value of each tunable, the others at their defaults.
std::vector<Params> tunings(const Kernel& kernel) {
  std::vector<Params> all = {with_tunables(kernel, {})};
  for (const Tunable& tunable : kernel.tunables)
    for (const std::int64_t value : tunable.values) all.push_back(with_tunables(kernel, {{tunable.name, value}}));
  return all;
}

Params with_sizes(Params params, const Params& sizes) {
  for (const auto& [name, value] : sizes) params.set(name, value);
  return params;
}

/// Verifies a kernel with guard bands and poisoned outputs on both fills; the failure, or empty.
std::string failure(Target& host, const Kernel& kernel, const Params& tunables, const Params& given) {
  const Problem& problem = find_problem(kernel.family());
  const Params sizes = problem.complete(given);
  Workload workload(host, kernel, problem, sizes, {.params = with_sizes(tunables, sizes)});
  for (const Fill fill : {Fill::integers, Fill::random}) {
    const Check check = workload.verify(HostInputs(problem, sizes, fill, 7));
    if (!check.passed()) return check.failure.empty() ? "error beyond its bound" : check.failure;
  }
  return "";
}

TEST(CpuMatmul, EveryKernelIsRightAtAwkwardSizes) {
  const auto host = open_host();
  const std::vector<Params> shapes = {
      {{"n", 1}},
      {{"n", 2}},
      {{"n", 17}},
      {{"n", 64}},
      {{"n", 129}},
      {{"m", 1}, {"n", 300}, {"k", 5}},
      {{"m", 300}, {"n", 1}, {"k", 5}},
      {{"m", 5}, {"n", 7}, {"k", 1}},
      {{"m", 3}, {"n", 2}, {"k", 1000}},
      {{"m", 257}, {"n", 65}, {"k", 130}},
      {{"m", 31}, {"n", 270}, {"k", 33}},
  };
  for (const Kernel* kernel : cpu_kernels("matmul"))
    for (const Params& tunables : tunings(*kernel))
      for (const Params& shape : shapes)
        EXPECT_EQ(failure(*host, *kernel, tunables, shape), "")
            << kernel->name << " " << tunables.text() << " " << shape.text();
}

TEST(CpuMatmul, MoreThreadsThanWorkOrCores) {
  const auto host = open_host();
  omp_set_num_threads(5);
  for (const Kernel* kernel : cpu_kernels("matmul"))
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
  const Problem& problem = find_problem("matmul");
  const Params sizes = problem.complete({{"n", 512}});
  Workload workload(host, kernel, problem, sizes, {.params = with_sizes(with_tunables(kernel, {}), sizes)});
  workload.verify(HostInputs(problem, sizes, Fill::random, 7));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // other pools' threads spin for a while, then sleep
  const auto before = thread_seconds();
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(300)) host.run(kernel, workload.call());
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
  if (thread_seconds().empty()) GTEST_SKIP() << "the system does not tell the time that threads used";
  const auto host = open_host();
  const int all = std::min(omp_get_num_procs(), 4);  // few enough that each has a share of a product of size 512
  for (const Kernel* kernel : cpu_kernels("matmul")) {
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

TEST(CpuCeilings, EveryKernelSolvesItsProblem) {
  const auto host = open_host();
  const std::map<std::string, std::vector<Params>> sizes = {
      {"read",
       {{{"bytes", 256}},
        {{"bytes", 256 * 7}, {"passes", 3}},
        {{"bytes", 256 * 1000}, {"passes", 2}},
        {{"bytes", 1 << 16}, {"passes", 1001}}}},
      {"copy", {{{"bytes", 256}}, {{"bytes", 256 * 7}}, {{"bytes", 256 * 1001}}}},
      {"fma", {{{"chains", 160}, {"iterations", 16}}, {{"chains", 160 * 7}, {"iterations", 1 << 15}}}},
  };
  for (const auto& [family, list] : sizes)
    for (const Kernel* kernel : cpu_kernels(family)) {
      EXPECT_TRUE(kernel->ceiling) << kernel->name;
      for (const Params& given : list) {
        const std::string reason = refusal(*kernel, find_problem(family).complete(given));
        if (!reason.empty()) continue;
        EXPECT_EQ(failure(*host, *kernel, {}, given), "") << kernel->name << " " << given.text();
      }
    }
}

TEST(CpuCeilings, SizesComeFromTheMachineAndAreValid) {
  for (const std::string family : {"read", "copy", "fma"})
    for (const Kernel* kernel : cpu_kernels(family)) {
      ASSERT_TRUE(kernel->sizes) << kernel->name;
      const Params sizes = find_problem(family).complete(kernel->sizes());
      EXPECT_EQ(sizes, kernel->sizes()) << kernel->name;
      if (kernel->ceiling->label == "L1" && kernel->refuse(sizes).empty()) {
        EXPECT_LE(sizes.at("bytes"), static_cast<std::int64_t>(cpu_info().l1d_bytes) * cpu_threads());
      }
      if (kernel->ceiling->label == "DRAM" && kernel->refuse(sizes).empty()) {
        EXPECT_GE(sizes.at("bytes"), 2 * static_cast<std::int64_t>(cpu_info().all_l3_bytes));
      }
    }
}

TEST(CpuCeilings, RefusalsSayWhatAndWhy) {
  for (const Kernel* kernel : cpu_kernels("fma")) {
    const std::string reason = kernel->refuse({{"chains", 7}, {"iterations", 16}});
    EXPECT_TRUE(reason.starts_with("this CPU has no ") || reason.starts_with("chains must be a multiple of "))
        << kernel->name << ": " << reason;
    const std::string machine = kernel->refuse({{"chains", 160}, {"iterations", 16}});
    if (kernel->ceiling->label == "FMA " + cpu_info().simd) {
      EXPECT_EQ(machine, "") << kernel->name;
    }
    if (kernel->ceiling->label == "FMA AVX-512" && cpu_info().simd != "AVX-512") {
      EXPECT_EQ(machine, "this CPU has no AVX-512 (it has " + cpu_info().simd + ")");
    }
  }
}

TEST(CeilingProblems, BadSizesAreRefused) {
  EXPECT_THROW(find_problem("read").complete({{"bytes", 100}}), Error);
  EXPECT_THROW(find_problem("read").complete({{"bytes", 256}, {"passes", 0}}), Error);
  EXPECT_THROW(find_problem("read").complete({}), Error);
  EXPECT_THROW(find_problem("copy").complete({{"bytes", -256}}), Error);
  EXPECT_THROW(find_problem("fma").complete({{"chains", 160}, {"iterations", 17}}), Error);
  EXPECT_THROW(find_problem("fma").complete({{"chains", 160}, {"iterations", 1 << 21}}), Error);
}

/// What a judge says of a kernel with a planted fault.
std::string verdict(const std::string& problem, const Params& sizes, const std::function<void(const Call&)>& run) {
  Kernel kernel;
  kernel.name = "cpu/" + problem + "/faulty";
  kernel.run = run;
  const auto host = open_host();
  return failure(*host, kernel, {}, sizes);
}

TEST(CeilingProblems, FaultsAreFound) {
  const auto sum = [](const Call& call, std::int64_t skipped, std::int64_t passes, std::size_t written) {
    const auto* data = call.operand<const std::uint32_t>(0);
    std::uint32_t total = 0;
    for (std::int64_t i = 0; i < call.params.at("bytes") / 4; ++i) total += data[i];
    for (std::size_t i = 0; i < written; ++i) call.operand<std::uint32_t>(1)[i] = 0;
    call.operand<std::uint32_t>(1)[0] = total * static_cast<std::uint32_t>(passes) - (skipped < 0 ? 0 : data[skipped]);
  };
  const Params read = {{"bytes", 1 << 16}, {"passes", 1000}};
  EXPECT_EQ(verdict("read", read, [&](const Call& c) { sum(c, -1, 1000, 4096); }), "");
  EXPECT_NE(verdict("read", read, [&](const Call& c) { sum(c, 77, 1000, 4096); }), "") << "one element, one pass";
  EXPECT_NE(verdict("read", read, [&](const Call& c) { sum(c, -1, 999, 4096); }), "") << "a pass too few";
  EXPECT_NE(verdict("read", read, [&](const Call& c) { sum(c, -1, 1000, 4095); }), "") << "a partial not written";

  const auto copy = [](const Call& call, std::int64_t count) {
    std::copy_n(call.operand<const float>(0), count, call.operand<float>(1));
  };
  EXPECT_EQ(verdict("copy", {{"bytes", 1024}}, [&](const Call& c) { copy(c, 256); }), "");
  EXPECT_NE(verdict("copy", {{"bytes", 1024}}, [&](const Call& c) { copy(c, 255); }), "");
  const auto overrun = [&](const Call& call) {
    copy(call, 256);
    call.operand<float>(1)[256] = 1;
  };
  EXPECT_NE(verdict("copy", {{"bytes", 1024}}, overrun), "") << "written beyond the end";

  const auto fma = [](const Call& call, std::int64_t iterations, int last) {
    const auto *x = call.operand<const float>(0), *c = call.operand<const float>(1);
    for (std::int64_t i = 0; i < call.params.at("chains") - last; ++i) {
      float value = x[i];
      for (std::int64_t step = 0; step < iterations; ++step) value = value * c[step % 2 * 2] + c[step % 2 * 2 + 1];
      call.operand<float>(2)[i] = value;
    }
  };
  const Params chains = {{"chains", 33}, {"iterations", 4096}};
  EXPECT_EQ(verdict("fma", chains, [&](const Call& c) { fma(c, 4096, 0); }), "");
  EXPECT_NE(verdict("fma", chains, [&](const Call& c) { fma(c, 4095, 0); }), "") << "a step too few";
  EXPECT_NE(verdict("fma", chains, [&](const Call& c) { fma(c, 4094, 0); }), "") << "two steps too few";
  EXPECT_NE(verdict("fma", chains, [&](const Call& c) { fma(c, 4096, 1); }), "") << "a chain not written";
}

}  // namespace
}  // namespace rung
