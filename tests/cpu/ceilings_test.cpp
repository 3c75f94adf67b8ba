/// The CPU's ceilings: every kernel is right, its sizes belong to the level that it names, every pass is made, and the
/// triad from memory is as fast as an independent STREAM. Kernels come from the registry, not from lists of names,
/// where possible.
#include <gtest/gtest.h>
#include <omp.h>
#include <stdio.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>

#include "common/harness/workload.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/machine/target.hpp"
#include "common/problem/fma_tiles.hpp"
#include "tests/quiet_machine.hpp"

namespace rung {
namespace {

/// The CPU's ceilings, all or of one family and type; empty where the build has none (tiles of bfloat16 on another CPU
/// than x86).
std::vector<const Kernel*> ceilings(const std::string& family = "", Type type = Type::fp32) {
  std::vector<const Kernel*> found;
  for (const Kernel& kernel : kernels())
    if (kernel.side() == "cpu" && kernel.ceiling &&
        (family.empty() || (kernel.family() == family && (family == "read" || kernel.type == type))))
      found.push_back(&kernel);
  return found;
}

/// Verifies a kernel with guard bands and poisoned outputs on both fills; the failure, or empty.
std::string failure(Target& host, const Kernel& kernel, const Params& given) {
  const Problem& problem = problem_of(kernel);
  const Params sizes = problem.complete(given);
  Workload workload(host, kernel, problem, {.params = sizes});
  for (const DataSet& data : problem.data) {
    const Check check = workload.verify(HostInputs(problem, sizes, data, 7));
    if (!check.passed()) return check.failure.empty() ? "error beyond its bound" : check.failure;
  }
  return "";
}

TEST(CpuCeilings, SizesFollowTheMachineAndTheThreads) {
  for (const int threads : {1, 2, 3, 0}) {
    const UseThreads scope(threads);
    const std::int64_t team = omp_get_max_threads();
    for (const Kernel* kernel : ceilings()) {
      ASSERT_TRUE(kernel->sizes) << kernel->name;
      const std::string family = kernel->family();
      const Params sizes = problem_of(*kernel).complete(kernel->sizes());
      EXPECT_EQ(sizes, kernel->sizes()) << kernel->name;
      if (!kernel->refuse(sizes).empty()) continue;
      const std::string& label = kernel->ceiling->label;
      const std::int64_t arrays = family == "read" ? 1 : family == "copy" ? 2 : 3;
      if (label.starts_with("L1 ") || label == "L1") {
        EXPECT_LE(arrays * sizes.at("bytes") * 4, static_cast<std::int64_t>(cpu_info().l1d_bytes) * 3 * team)
            << kernel->name;
      }
      if (label.starts_with("L2")) {
        EXPECT_LE(arrays * sizes.at("bytes"), static_cast<std::int64_t>(cpu_info().l2_bytes) * team) << kernel->name;
        EXPECT_GT(arrays * sizes.at("bytes"), static_cast<std::int64_t>(cpu_info().l1d_bytes) * team) << kernel->name;
      }
      if (label.starts_with("DRAM")) {
        EXPECT_GE(sizes.at("bytes"), 2 * static_cast<std::int64_t>(cpu_info().all_l3_bytes)) << kernel->name;
      }
      if (sizes.has("chains")) {
        const UseThreads one(1);
        EXPECT_EQ(sizes.at("chains"), team * kernel->sizes().at("chains")) << kernel->name;
      }
    }
  }
}

TEST(CpuCeilings, LabelsAreTheLevelsAndTheWidths) {
  std::vector<std::string> labels;
  for (const Kernel* kernel : ceilings()) labels.push_back(kernel->ceiling->label);
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(std::adjacent_find(labels.begin(), labels.end()), labels.end()) << "two kernels for one roof";
  for (const std::string level : {"L1", "L2", "L3", "DRAM"})
    for (const std::string form : {"", " copy", " triad"})
      EXPECT_TRUE(std::binary_search(labels.begin(), labels.end(), level + form)) << level << form;
}

TEST(CpuCeilings, RefusalsSayWhatAndWhy) {
  for (const Kernel* kernel : ceilings("fma")) {
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
  for (const Kernel* kernel : ceilings("fma", Type::bf16)) {
    const std::string reason = kernel->refuse({{"chains", 6}, {"iterations", 2}});
    EXPECT_TRUE(reason.starts_with("this CPU has no ") || reason.starts_with("the operating system does not give ") ||
                reason == "chains must be a multiple of 4")
        << kernel->name << ": " << reason;
  }
}

/// The shortest of several calls, in seconds.
double best_seconds(Target& host, const Kernel& kernel, const Call& call, int calls) {
  double best = host.time(kernel, call, 1, Mode::hot);
  for (int i = 1; i < calls; ++i) best = std::min(best, host.time(kernel, call, 1, Mode::hot));
  return best;
}

/// The least processor time of several calls on one thread: whoever else uses the core is not in it.
double best_processor_seconds(Target& host, const Kernel& kernel, const Call& call, int calls) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double best = 1;
  for (int i = 0; i < calls; ++i) {
    const double start = now();
    host.run(kernel, call);
    best = std::min(best, now() - start);
  }
  return best;
}

/// A pass that a compiler removes changes only the time, not the result. The shortest of many calls counts, until the
/// condition is met.
TEST(CpuCeilings, EveryPassTakesItsTime) {
  const auto host = open_host();
  const UseThreads one(1);
  for (const std::string family : {"read", "copy", "triad"})
    for (const Kernel* kernel : ceilings(family)) {
      const Problem& problem = problem_of(*kernel);
      double few = 1, many = 1;
      for (int round = 0; round < 20 && many <= 2.5 * few; ++round)
        for (const bool is_many : {false, true}) {
          const Params sizes = problem.complete({{"bytes", 8192}, {"passes", is_many ? 16000 : 4000}});
          Workload workload(*host, *kernel, problem, {.params = sizes});
          ASSERT_TRUE(workload.verify(HostInputs(problem, sizes, problem.timed_data(), 7)).passed()) << kernel->name;
          double& best = is_many ? many : few;
          best = std::min(best, best_processor_seconds(*host, *kernel, workload.call(), 20));
        }
      EXPECT_GT(many, 2.5 * few) << kernel->name << ": four times the passes";
    }
}

/// MB/s that the reference prints for a kernel ("Triad"); 0 if it does not.
double stream_rate(const std::string& output, const std::string& kernel) {
  const std::size_t line = output.find(kernel + ": ");
  return line == std::string::npos ? 0 : std::strtod(output.c_str() + line + kernel.size() + 2, nullptr);
}

/// What the reference prints with arrays of `bytes` each; throws if it does not end well.
std::string run_stream(std::int64_t bytes) {
  const std::string command = "OMP_NUM_THREADS=" + std::to_string(omp_get_max_threads()) + " '" RUNG_STREAM "' " +
                              std::to_string(bytes / 8) + " 20 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw Error("cannot start " + command);
  std::string output;
  for (char line[256]; fgets(line, sizeof line, pipe);) output += line;
  if (pclose(pipe) != 0) throw Error(command + " failed: " + output);
  return output;
}

/// The best of many runs counts on both sides, since other programs here, or on the same host as this virtual machine,
/// only ever reduce the bandwidth. Both are interleaved until each has had a quiet moment. The tolerance of a quarter
/// is more than a neighbour takes for that long, and less than the third by which a triad that counts the fetching of
/// its output differs.
TEST(CpuCeilings, TriadFromMemoryIsAsFastAsStream) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers take their time";
#endif
  const Kernel& kernel = find_kernel("cpu/triad/dram");
  const Problem& problem = find_problem("triad");
  const Params sizes = problem.complete(kernel.sizes());
  if (const std::string reason = refusal(kernel, sizes); !reason.empty()) GTEST_SKIP() << reason;
  const auto host = open_host();
  const auto bytes = static_cast<std::size_t>(sizes.at("bytes"));
  if (host->free_bytes() < 9 * bytes) GTEST_SKIP() << "too little memory for arrays of " << bytes / 1000000 << " MB";
  Workload workload(*host, kernel, problem, {.params = sizes});
  ASSERT_TRUE(workload.verify(HostInputs(problem, sizes, problem.timed_data(), 7)).passed());
  const double within = is_quiet_machine() ? 0.03 : 0.25;
  double ours = 0, reference = 0;
  constexpr int kCalls = 80;  // STREAM's 20 repetitions of four kernels take about as long
  for (int round = 0; round < 16; ++round) {
    ours = std::max(ours, problem.bytes_min(sizes) / best_seconds(*host, kernel, workload.call(), kCalls) / 1e6);
    reference = std::max(reference, stream_rate(run_stream(sizes.at("bytes")), "Triad"));
    if (round > 0 && std::abs(ours / reference - 1) <= within) break;
  }
  RecordProperty("triad_mb_per_s", std::to_string(ours));
  RecordProperty("stream_mb_per_s", std::to_string(reference));
  std::cout << "triad: cpu/triad/dram " << ours << " MB/s, STREAM " << reference << " MB/s\n";
  ASSERT_GT(reference, 0);
  if (!is_quiet_machine() && std::abs(ours / reference - 1) > within)
    GTEST_SKIP() << "this machine is too busy for a test: triad " << ours << ", STREAM " << reference
                 << " MB/s; set RUNG_QUIET_MACHINE=1 where it is not";
  EXPECT_NEAR(ours / reference, 1, within);
}

TEST(CeilingProblems, BadSizesAreRefused) {
  for (const Problem* each : problems()) {
    if (each->size_names != std::vector<std::string>{"bytes", "passes"}) continue;
    const Problem& problem = *each;
    const std::string& family = problem.family;
    EXPECT_THROW(problem.complete({{"bytes", 100}}), Error) << family;
    EXPECT_THROW(problem.complete({{"bytes", 0}}), Error) << family;
    EXPECT_THROW(problem.complete({{"bytes", -256}}), Error) << family;
    EXPECT_THROW(problem.complete({{"bytes", std::int64_t{1} << 62}}), Error) << family;
    EXPECT_THROW(problem.complete({{"bytes", 256}, {"passes", 0}}), Error) << family;
    EXPECT_THROW(problem.complete({}), Error) << family;
    EXPECT_EQ(problem.complete({{"bytes", 256}}), (Params{{"bytes", 256}, {"passes", 1}})) << family;
  }
  EXPECT_THROW(find_problem("fma").complete({{"chains", 160}, {"iterations", 17}}), Error);
  EXPECT_THROW(find_problem("fma").complete({{"chains", 160}, {"iterations", 1 << 21}}), Error);
  EXPECT_THROW(find_problem("fma", Type::bf16).complete({{"chains", 4}, {"iterations", 3}}), Error);
  EXPECT_THROW(find_problem("fma", Type::bf16).complete({{"chains", 4}, {"iterations", 1 << 17}}), Error);
  EXPECT_THROW(find_problem("fma", Type::bf16).complete({{"chains", 0}, {"iterations", 2}}), Error);
}

TEST(CeilingProblems, PassesAreForKernelsThatMakeThem) {
  Kernel once;
  once.name = "cpu/copy/once";
  for (const std::string family : {"copy", "triad"}) {
    once.name = "cpu/" + family + "/once";
    once.is_general = false;
    EXPECT_EQ(refusal(once, {{"bytes", 256}, {"passes", 1}}), "");
    EXPECT_NE(refusal(once, {{"bytes", 256}, {"passes", 2}}), "") << "its rate would be twice what it is";
    once.is_general = true;
    EXPECT_EQ(refusal(once, {{"bytes", 256}, {"passes", 2}}), "");
    EXPECT_EQ(find_problem(family).brief({{"bytes", 256}, {"passes", 1}}).text(), "bytes:256");
    EXPECT_EQ(find_problem(family).brief({{"bytes", 256}, {"passes", 2}}).text(), "bytes:256/passes:2");
  }
}

TEST(CeilingProblems, BytesAndOperationsAreStreams) {
  const Params sizes = {{"bytes", 4096}, {"passes", 3}};
  EXPECT_EQ(find_problem("read", Type::uint32).bytes_min(sizes), 3 * 4096);
  EXPECT_EQ(find_problem("copy").bytes_min(sizes), 3 * 2 * 4096);
  EXPECT_EQ(find_problem("triad").bytes_min(sizes), 3 * 3 * 4096);
  EXPECT_EQ(find_problem("triad").flops(sizes), 3 * 2 * 1024);
  EXPECT_EQ(find_problem("fma", Type::bf16).flops({{"chains", 3}, {"iterations", 2}}), 3 * 2 * 2.0 * 16 * 16 * 32);
}

/// What a judge says of a kernel with a planted fault.
std::string verdict(const std::string& family, Type type, const Params& sizes,
                    const std::function<void(const Call&)>& run) {
  Kernel kernel;
  kernel.name = "cpu/" + family + "/faulty";
  kernel.type = type;
  kernel.run = run;
  const auto host = open_host();
  return failure(*host, kernel, sizes);
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
  EXPECT_EQ(verdict("read", Type::uint32, read, [&](const Call& c) { sum(c, -1, 1000, 4096); }), "");
  EXPECT_NE(verdict("read", Type::uint32, read, [&](const Call& c) { sum(c, 77, 1000, 4096); }), "")
      << "one element, one pass";
  EXPECT_NE(verdict("read", Type::uint32, read, [&](const Call& c) { sum(c, -1, 999, 4096); }), "") << "a pass too few";
  EXPECT_NE(verdict("read", Type::uint32, read, [&](const Call& c) { sum(c, -1, 1000, 4095); }), "")
      << "a partial not written";

  const auto copy = [](const Call& call, std::int64_t count) {
    std::copy_n(call.operand<const float>(0), count, call.operand<float>(1));
  };
  EXPECT_EQ(verdict("copy", Type::fp32, {{"bytes", 1024}}, [&](const Call& c) { copy(c, 256); }), "");
  EXPECT_NE(verdict("copy", Type::fp32, {{"bytes", 1024}}, [&](const Call& c) { copy(c, 255); }), "");
  const auto overrun = [&](const Call& call) {
    copy(call, 256);
    call.operand<float>(1)[256] = 1;
  };
  EXPECT_NE(verdict("copy", Type::fp32, {{"bytes", 1024}}, overrun), "") << "written beyond the end";

  const auto triad = [](const Call& call, std::int64_t count, float factor, float slip) {
    const auto *b = call.operand<const float>(0), *c = call.operand<const float>(1);
    auto* a = call.operand<float>(2);
    for (std::int64_t i = 0; i < count; ++i) a[i] = (b[i] + factor * c[i]) * (i == 100 ? 1 + slip : 1);
  };
  const Params three = {{"bytes", 1024}};
  EXPECT_EQ(verdict("triad", Type::fp32, three, [&](const Call& c) { triad(c, 256, 3, 0); }), "");
  EXPECT_NE(verdict("triad", Type::fp32, three, [&](const Call& c) { triad(c, 255, 3, 0); }), "")
      << "an element not written";
  EXPECT_NE(verdict("triad", Type::fp32, three, [&](const Call& c) { triad(c, 257, 3, 0); }), "")
      << "written beyond the end";
  EXPECT_NE(verdict("triad", Type::fp32, three, [&](const Call& c) { triad(c, 256, 2, 0); }), "") << "another factor";
  EXPECT_NE(verdict("triad", Type::fp32, three, [&](const Call& c) { triad(c, 256, 3, 1e-5f); }), "")
      << "one element, slightly";

  const auto fma = [](const Call& call, std::int64_t iterations, int last) {
    const auto *x = call.operand<const float>(0), *c = call.operand<const float>(1);
    for (std::int64_t i = 0; i < call.params.at("chains") - last; ++i) {
      float value = x[i];
      for (std::int64_t step = 0; step < iterations; ++step) value = value * c[step % 2 * 2] + c[step % 2 * 2 + 1];
      call.operand<float>(2)[i] = value;
    }
  };
  const Params chains = {{"chains", 33}, {"iterations", 4096}};
  EXPECT_EQ(verdict("fma", Type::fp32, chains, [&](const Call& c) { fma(c, 4096, 0); }), "");
  EXPECT_NE(verdict("fma", Type::fp32, chains, [&](const Call& c) { fma(c, 4095, 0); }), "") << "a step too few";
  EXPECT_NE(verdict("fma", Type::fp32, chains, [&](const Call& c) { fma(c, 4094, 0); }), "") << "two steps too few";
  EXPECT_NE(verdict("fma", Type::fp32, chains, [&](const Call& c) { fma(c, 4096, 1); }), "") << "a chain not written";
}

/// The tiles' chains in plain C++: with all iterations or fewer, with all tiles or fewer, and B as it is or transposed
/// within its pairs of rows, the slip that the unit's layout invites.
void plain_tiles(const Call& call, std::int64_t iterations, std::int64_t missing, bool swaps_pairs) {
  const auto* x = call.operand<const float>(0);
  const auto *a = call.operand<const Bf16>(1), *b = call.operand<const Bf16>(2);
  auto* y = call.operand<float>(3);
  const std::int64_t sums = (call.params.at("chains") - missing) * kTileSums;
  std::copy_n(x, sums, y);
  for (std::int64_t step = 0; step < iterations; ++step)
    for (std::int64_t s = 0; s < sums; ++s)
      for (int i = 0; i < kTileDepth; ++i) {
        const std::int64_t row = s % kTileSums / kTileCols, col = s % kTileCols;
        const std::int64_t from = step % 2 * kTileDepth + (swaps_pairs ? i ^ 1 : i);
        y[s] += from_bf16(a[row * kTileDepth + i]) * from_bf16(b[from * kTileCols + col]);
      }
}

TEST(CeilingProblems, FaultsInTilesAreFound) {
  const Params sizes = {{"chains", 3}, {"iterations", 64}};
  const auto with = [&](std::int64_t iterations, std::int64_t missing, bool swaps_pairs) {
    return verdict("fma", Type::bf16, sizes, [=](const Call& c) { plain_tiles(c, iterations, missing, swaps_pairs); });
  };
  EXPECT_EQ(with(64, 0, false), "");
  EXPECT_NE(with(63, 0, false), "") << "a step too few";
  EXPECT_NE(with(62, 0, false), "") << "two steps too few";
  EXPECT_NE(with(64, 1, false), "") << "a tile not written";
  EXPECT_NE(with(64, 0, true), "") << "rows of B in another order";
}

}  // namespace
}  // namespace rung
