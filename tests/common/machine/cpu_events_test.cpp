/// Counting events: software events of the operating system, which every machine has, and refused events.
#include "common/machine/cpu_events.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <omp.h>
#include <sys/mman.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/machine/target.hpp"

namespace rung {
namespace {

const EventSum kTaskClock{"seconds", {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}}, 1e-9};
const EventSum kPageFaults{"faults", {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}}};
const EventSum kNoSuchEvent{"none", {{PERF_TYPE_HARDWARE, 0x7FFF}}};

/// Works for `seconds` of its own thread's CPU time.
void burn(double seconds) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  };
  for (const double end = now() + seconds; now() < end;) {
  }
}

#define SKIP_WHERE_FORBIDDEN(events) \
  if ((events).available().empty()) GTEST_SKIP() << (events).unavailable()

TEST(CpuEvents, CountThreadsThatExistAndThoseThatTheWorkStarts) {
  const CpuEvents events({kTaskClock});
  SKIP_WHERE_FORBIDDEN(events);
#pragma omp parallel num_threads(3)
  burn(1e-4);  // the team exists before anything is counted
  const auto team = events.count([] {
#pragma omp parallel num_threads(3)
    burn(0.03);
  });
  EXPECT_GE(team.at("seconds"), 0.08);  // three threads that burn 0.03 s each by their clocks
  const auto started = events.count([] {
    std::thread a(burn, 0.03), b(burn, 0.03);
    a.join();
    b.join();
  });
  EXPECT_GE(started.at("seconds"), 0.06);
  EXPECT_LT(started.at("seconds"), 0.6);
}

TEST(CpuEvents, CountTheWorkAndNothingBeforeIt) {
  const CpuEvents events({kTaskClock, kPageFaults});
  SKIP_WHERE_FORBIDDEN(events);
  constexpr std::size_t pages = 500, page = 4096;
  auto* memory =
      static_cast<char*>(mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  const auto touch = [&] {
    for (std::size_t i = 0; i < pages; ++i) memory[i * page] = 1;
  };
  burn(0.05);
  const double first = events.count(touch).at("faults"), second = events.count(touch).at("faults");
  EXPECT_GE(first, pages);
  EXPECT_LT(second, 50) << "they are there already";
  EXPECT_LT(events.count([] {}).at("seconds"), 0.02);
  munmap(memory, pages * page);
}

TEST(CpuEvents, LeaveOutWhatTheMachineDoesNotHave) {
  const CpuEvents events({kTaskClock, kNoSuchEvent});
  SKIP_WHERE_FORBIDDEN(events);
  ASSERT_EQ(events.available().size(), 1u);
  EXPECT_EQ(events.available()[0].key, "seconds");
  EXPECT_FALSE(events.unavailable().empty());
  EXPECT_EQ(events.unavailable().find('\n'), std::string::npos);
  EXPECT_EQ(events.count([] {}).count("none"), 0u);
}

TEST(CpuEvents, ASumNeedsAllItsEvents) {
  EventSum both{"both", {kTaskClock.events[0], kNoSuchEvent.events[0]}};
  EXPECT_TRUE(CpuEvents({both}).available().empty());
  EXPECT_TRUE(CpuEvents(std::vector<EventSum>{}).count([] {}).empty());
}

TEST(CpuEvents, AreScaledFromTheTimeThatTheyWereCounted) {
  EXPECT_DOUBLE_EQ(scaled_count(100, 1000, 1000), 100);
  EXPECT_DOUBLE_EQ(scaled_count(100, 1000, 250), 400);
  EXPECT_DOUBLE_EQ(scaled_count(0, 0, 0), 0) << "the thread slept";
  EXPECT_LT(scaled_count(0, 1000, 0), 0) << "no counter was free";
}

TEST(CpuEvents, TheHostTellsOfThemOrWhyNot) {
  const auto host = open_host();
  const nlohmann::json context = host->context();
  EXPECT_TRUE(context.contains("cpu_events") || !context.at("cpu_events_unavailable").get<std::string>().empty());
  int calls = 0;
  Kernel kernel;
  kernel.name = "cpu/none/count";
  kernel.run = [&](const Call&) { ++calls; };
  const auto counts = host->events(kernel, {}, 10);
  EXPECT_EQ(counts.size(), context.contains("cpu_events") ? context["cpu_events"].size() : 0u);
  EXPECT_EQ(calls, counts.empty() ? 0 : 10);
}

}  // namespace
}  // namespace rung
