/// The host as a target: memory, the clock, the flushed caches, and its description of itself.
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "common/machine/cpu_info.hpp"
#include "common/machine/target.hpp"

namespace rung {
namespace {

TEST(Host, DescribesItself) {
  const auto host = open_host();
  const nlohmann::json context = host->context();
  EXPECT_EQ(context["cpu_threads"], omp_get_max_threads());
  EXPECT_GE(context["cpu_hardware_threads"], context["cpu_cores"]);
  EXPECT_GT(context["memory_bytes"], 0);
  EXPECT_TRUE(context.contains("blas_version")) << "the kernels bring OpenBLAS along";
  EXPECT_GT(host->free_bytes(), 0u);
  EXPECT_LE(host->free_bytes(), context["memory_bytes"].get<std::size_t>());
}

TEST(Host, MemoryIsAlignedAndItsEndIsTold) {
  const auto host = open_host();
  for (const std::size_t bytes : {1u, 257u, 5000000u}) {
    void* memory = host->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
    host->release(memory);
  }
  EXPECT_THROW(host->allocate(host->free_bytes() * 2), Error);
}

TEST(Host, TimesWhatRuns) {
  const auto host = open_host();
  int runs = 0;
  Kernel kernel;
  kernel.name = "cpu/none/sleep";
  kernel.run = [&](const Call&) {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  for (const Mode mode : {Mode::hot, Mode::cold}) {
    runs = 0;
    const double seconds = host->time(kernel, {}, 5, mode);
    EXPECT_EQ(runs, 5);
    EXPECT_GE(seconds, 0.010);
  }
}

void busy_until(const std::function<bool()>& over) {
  volatile std::uint64_t spins = 0;
  while (!over()) spins = spins + 1;
}

double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The shortest of some calls: on a busy machine any one of them may have to wait for a core.
double least_seconds_of(const std::function<void()>& action) {
  double least = seconds_of(action);
  for (int i = 0; i < 20; ++i) least = std::min(least, seconds_of(action));
  return least;
}

TEST(Host, SettlesWhenIdleThreadsHaveGoneToSleep) {
  const auto host = open_host();
  if (seconds_of([&] { host->settle(); }) >= 0.25)  // OpenMP's own threads, if they spin
    GTEST_SKIP() << "a thread of this process does not get to rest on this busy machine";
  std::atomic<bool> slept = false, may_end = false;
  std::thread idle([&] {
    const auto start = std::chrono::steady_clock::now();
    busy_until([&] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(60); });
    slept = true;
    may_end.wait(false);
  });
  const double waited = seconds_of([&] { host->settle(); });
  const bool had_slept = slept;
  busy_until([&] { return slept.load(); });
  const double later = least_seconds_of([&] { host->settle(); });
  may_end = true;
  may_end.notify_all();
  idle.join();
  // A thread that is kept from its core for longer than settle() waits is given up, as it should be.
  EXPECT_TRUE(had_slept || waited > 0.15) << waited;
  EXPECT_LT(later, 0.1) << "asleep, it is no longer waited for";
}

TEST(Host, AThreadThatNeverRestsIsWaitedForOnce) {
  const auto host = open_host();
  std::atomic<bool> may_end = false;
  std::thread busy([&] { busy_until([&] { return may_end.load(); }); });
  const double first = seconds_of([&] { host->settle(); }), second = least_seconds_of([&] { host->settle(); });
  may_end = true;
  busy.join();
  EXPECT_GT(first, 0.15);
  EXPECT_LT(second, 0.1);
}

TEST(Host, ThreadsOfTheNextKernelAreNotWaitedFor) {
  const auto host = open_host();
  host->settle();
  std::atomic<bool> may_end = false;
  std::thread busy([&] { busy_until([&] { return may_end.load(); }); });
  const std::set<int> own = host->busy_threads();
  const double known = least_seconds_of([&] { host->settle(own); }), unknown = seconds_of([&] { host->settle(); });
  may_end = true;
  busy.join();
  EXPECT_EQ(own.size(), 1u);
  EXPECT_LT(known, 0.1);
  EXPECT_GT(unknown, 0.15);
}

TEST(Host, IdleThreadsAreEndedAndMadeAnew) {
#ifdef __clang__
  GTEST_SKIP() << "clang's OpenMP keeps its threads; made to end them, it crashes in a study's process";
#endif
  const auto host = open_host();
  const auto threads = [] {
    int count = 0;
#pragma omp parallel num_threads(4)
#pragma omp atomic
    ++count;
    return count;
  };
  const auto in_process = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  const int before = threads();
  const auto many = in_process();
  host->end_idle_threads();
  EXPECT_LT(in_process(), many);
  EXPECT_EQ(threads(), before);
}

TEST(Host, PagesOfALargeArrayServeTheNextOfItsSizeAndThreads) {
  const auto host = open_host();
  constexpr std::size_t kBytes = 9u << 20;
  const auto allocated = [&](std::size_t bytes, int threads) {
    const UseThreads own(threads);
    void* const memory = host->allocate(bytes);
    host->release(memory);
    return memory;
  };
  void* const first = allocated(kBytes, 1);
  EXPECT_EQ(allocated(kBytes, 1), first);
  EXPECT_NE(allocated(kBytes, 2), first) << "its pages may be near to another core";
  EXPECT_NE(allocated(kBytes + 4096, 1), first);
  void* const one = host->allocate(kBytes);
  void* const other = host->allocate(kBytes);
  EXPECT_NE(one, other);
  for (void* memory : {one, other}) host->release(memory);
}

TEST(Host, GivesBackThePagesThatItKeeps) {
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    std::int64_t all = 0, pages = 0;
    file >> all >> pages;
    return pages * sysconf(_SC_PAGESIZE);
  };
  constexpr std::int64_t kBytes = 64 << 20;
  const auto host = open_host();
  host->release(host->allocate(kBytes));
  const std::int64_t before = resident();
  host->release_kept();
  EXPECT_LT(resident(), before - kBytes * 9 / 10);
}

/// The harness adds one indirect call to each run of a short kernel. The best of many runs counts, since other programs
/// use the machine, too. Looking up a call's sizes by name is work of the kernel and measured in addition.
TEST(Host, AnEmptyKernelTakesNextToNothing) {
#ifndef __OPTIMIZE__
  GTEST_SKIP() << "without optimisation";
#endif
  const auto host = open_host();
  const Params sizes{{"m", 64}, {"n", 64}, {"k", 64}};
  float operand = 0;
  const Call call{.params = sizes, .operands = {&operand, &operand, &operand}};
  const auto nanoseconds = [&](std::function<void(const Call&)> run) {
    Kernel kernel;
    kernel.name = "cpu/none/empty";
    kernel.run = std::move(run);
    double best = 1;
    for (int i = 0; i < 50; ++i) best = std::min(best, host->time(kernel, call, 10'000, Mode::hot) / 10'000);
    return 1e9 * best;
  };
  const double empty = nanoseconds([](const Call&) {});
  volatile std::int64_t sink = 0;
  const double looked_up = nanoseconds([&](const Call& given) {
    for (const char* name : {"m", "n", "k"}) sink = given.params.at(name);
    for (const std::size_t i : {0, 1, 2}) sink = given.operand<float>(i) != nullptr;
  });
  std::printf("an empty run takes %.1f ns, one that looks up its sizes and operands %.1f ns\n", empty, looked_up);
  EXPECT_LT(empty, 100);
  EXPECT_LT(looked_up, 300);
}

/// All threads flush the caches before a cold run; their time does not count for the kernel.
TEST(Host, TheProcessorTimeOfAColdRunIsThatOfTheKernelAlone) {
  const auto host = open_host();
  Kernel kernel{.name = "cpu/none/spin", .cpu = {.is_serial = true}, .run = [](const Call&) {
                  const auto start = std::chrono::steady_clock::now();
                  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(8)) {
                  }
                }};
  std::vector<double> of_caller;
  for (int i = 0; i < 9; ++i) {
    host->time(kernel, {}, 1, Mode::cold);
    if (const auto time = host->processor_time()) of_caller.push_back(time->of_caller);
  }
  ASSERT_FALSE(of_caller.empty());
  std::ranges::sort(of_caller);
  EXPECT_LT(of_caller[of_caller.size() / 2], 1.2);
}

/// Cold runs are slower on data that the caches would have held: the flush reaches every level. The library's search is
/// as fast as the memory; a loop of this file would not be, since its branches are counted.
TEST(Host, ColdIsColderThanHot) {
  const auto host = open_host();
  const std::vector<char> data(128 << 10);  // hot, it is in the L2
  volatile bool sink = false;
  Kernel kernel;
  kernel.name = "cpu/none/search";
  kernel.run = [&](const Call&) { sink = std::memchr(data.data(), 1, data.size()) != nullptr; };
  double hot = 1, cold = 1;  // the best of several: a busy machine only ever adds
  for (int i = 0; i < 100 && (i < 10 || cold <= 1.2 * hot); ++i) {
    hot = std::min(hot, host->time(kernel, {}, 20, Mode::hot) / 20);  // the first runs after a flush
    cold = std::min(cold, host->time(kernel, {}, 1, Mode::cold));
  }
  EXPECT_GT(cold, 1.2 * hot);
}

}  // namespace
}  // namespace rung
