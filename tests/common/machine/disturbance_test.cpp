/// The effect of other work on an interval, from the system's counters.
#include "common/machine/disturbance.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

/// A /proc with two threads: processor time and waits in nanoseconds, starts.
class Counters {
 public:
  Look look(const std::string& one, const std::string& other, const std::string& stat) {
    write("self/task/1/schedstat", one);
    write("self/task/2/schedstat", other);
    write("stat", "cpu  " + stat + " 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n");
    return Look::now(folder_.path());
  }

 private:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_.path() / name;
    create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  TemporaryFolder folder_;
};

TEST(Disturbance, IsTheThreadThatWaitedLongest) {
  Counters counters;
  const Look before = counters.look("100 200 1", "0 0 0", "10 0 0 50 0 0 0 3");
  const Disturbance found = counters.look("9000100 8020200 2", "8000000 500000 1", "10 0 0 50 0 0 0 3").since(before);
  EXPECT_NEAR(*found.waited, 8e-3, 1e-9) << "less what it takes to wake on an idle processor";
  EXPECT_EQ(found.threads, 2);
  EXPECT_EQ(found.stolen, 0);
}

TEST(Disturbance, ThreadsThatSleepAndWakeOnIdleProcessorsAreNone) {
  Counters counters;
  const Look before = counters.look("0 0 0", "0 0 0", "0 0 0 0 0 0 0 0");
  Disturbance found = counters.look("9000000 1500000 100", "90000 1500000 100", "0 0 0 0 0 0 0 0").since(before);
  EXPECT_LE(*found.waited, 0);
  EXPECT_EQ(found.threads, 1) << "the other one hardly ran";
  found.seconds = 0.01;
  EXPECT_FALSE(found.is_one());
}

TEST(Disturbance, StealCountsFromTheSecondTickOn) {
  Counters counters;
  const Look before = counters.look("0 0 0", "0 0 0", "0 0 0 0 0 0 0 5");
  EXPECT_EQ(counters.look("0 0 0", "0 0 0", "0 0 0 0 0 0 0 6").since(before).stolen, 0);
  EXPECT_NEAR(*counters.look("0 0 0", "0 0 0", "0 0 0 0 0 0 0 9").since(before).stolen,
              3.0 / double(sysconf(_SC_CLK_TCK)), 1e-9);
}

TEST(Disturbance, IsMoreThanAPerCentOfTheInterval) {
  const auto with = [](auto change) {
    Disturbance one{
        .seconds = 1, .waited = 0.009, .switches = 3, .stolen = 0, .others = 2, .threads = 2, .device_others = {}};
    change(one);
    return one.is_one();
  };
  EXPECT_FALSE(with([](Disturbance&) {}));
  EXPECT_TRUE(with([](Disturbance& one) { one.waited = 0.011; }));
  EXPECT_TRUE(with([](Disturbance& one) { one.stolen = 0.011; }));
  EXPECT_TRUE(with([](Disturbance& one) { one.device_others = 0.02; }));
  EXPECT_TRUE(with([](Disturbance& one) { one.waited.reset(); })) << "by the switches, where waits are not reported";
  EXPECT_FALSE(with([](Disturbance& one) { one.waited.reset(), one.switches = 0; }));
  const auto crowded = [](double others, int processors) {
    return
        [=](Disturbance& one) { one.waited = 0.5, one.others = others, one.threads = 4, one.processors = processors; };
  };
  EXPECT_FALSE(with(crowded(0.05, 2))) << "its own threads wait for each other";
  EXPECT_TRUE(with(crowded(0.5, 2)));
  EXPECT_TRUE(with([&](Disturbance& one) { crowded(0.05, 2)(one), one.stolen = 0.1; })) << "a hypervisor's part counts";
  EXPECT_TRUE(with(crowded(0.05, 4)));
}

TEST(Disturbance, WhatTheSystemDoesNotTellIsAbsent) {
  const TemporaryFolder empty;
  const Look look = Look::now(empty.path());
  const Disturbance found = Look::now(empty.path()).since(look);
  EXPECT_FALSE(found.waited || found.stolen || found.others || found.threads);
  EXPECT_TRUE(found.switches);
}

/// A process that computes on the only processor that this thread may use.
TEST(Disturbance, IsSeenWhereAnotherProcessWantsTheSameProcessor) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const pid_t other = fork();
  if (other == 0)
    for (;;) {
    }
  const auto start = std::chrono::steady_clock::now();
  const Look look = Look::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(200)) {
  }
  const Disturbance found = Look::now().since(look);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  sched_setaffinity(0, sizeof before, &before);
  if (!found.waited) GTEST_SKIP() << "this system does not report how long threads wait";
  EXPECT_GT(*found.waited, 0.02);
  EXPECT_TRUE(found.is_one());
}

}  // namespace
}  // namespace rung
