/// Limits of control groups, read from folders that look like the system's.
#include "common/machine/control_groups.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

/// Control groups with these files below their root, for a process that is in the groups `membership` names.
struct Tree {
  TemporaryFolder folder;
  ControlGroups groups;

  Tree(const std::string& membership, const std::map<std::string, std::string>& files)
      : groups(folder.write("cgroup", membership), folder / "root") {
    for (const auto& [name, text] : files) {
      std::filesystem::create_directories((folder / ("root/" + name)).parent_path());
      folder.write("root/" + name, text);
    }
  }
};

TEST(ControlGroups, QuotaOfVersion2IsTheLeastOnTheWayToTheRoot) {
  EXPECT_DOUBLE_EQ(
      Tree("0::/a/b\n", {{"a/b/cpu.max", "150000 100000\n"}, {"a/cpu.max", "400000 100000\n"}}).groups.cpu_quota(),
      1.5);
  EXPECT_DOUBLE_EQ(
      Tree("0::/a/b\n", {{"cpu.max", "50000 100000\n"}, {"a/b/cpu.max", "max 100000\n"}}).groups.cpu_quota(), 0.5);
  EXPECT_DOUBLE_EQ(Tree("0::/\n", {{"cpu.max", "300000 100000\n"}}).groups.cpu_quota(), 3);
}

TEST(ControlGroups, QuotaOfVersion1IsOfItsController) {
  const std::map<std::string, std::string> files{{"cpu/x/cpu.cfs_quota_us", "250000\n"},
                                                 {"cpu/x/cpu.cfs_period_us", "100000\n"},
                                                 {"cpu/y/cpu.cfs_quota_us", "-1\n"},
                                                 {"cpu/y/cpu.cfs_period_us", "100000\n"}};
  EXPECT_DOUBLE_EQ(Tree("4:memory:/z\n3:cpu,cpuacct:/x\n", files).groups.cpu_quota(), 2.5);
  EXPECT_TRUE(std::isinf(Tree("3:cpu:/y\n", files).groups.cpu_quota())) << "-1 is no limit";
  EXPECT_TRUE(std::isinf(Tree("3:cpuset:/x\n", files).groups.cpu_quota())) << "another controller";
}

TEST(ControlGroups, WhatMakesNoSenseLimitsNothing) {
  for (const char* text : {"", "max", "max 100000", "x y", "100000", "0 100000", "-5 100000", "100000 0", "\0\xff"})
    EXPECT_TRUE(std::isinf(Tree("0::/a\n", {{"a/cpu.max", text}}).groups.cpu_quota())) << text;
  for (const char* membership : {"", "\n", "0", "0:", "nonsense\n", "::", "0::"})
    EXPECT_TRUE(std::isinf(Tree(membership, {{"a/cpu.max", "1 1"}}).groups.cpu_quota())) << membership;
  EXPECT_TRUE(std::isinf(ControlGroups("/does/not/exist", "/does/not/exist").cpu_quota()));
}

TEST(ControlGroups, MemoryLimitsBelowTheMachinesOwn) {
  const Tree v2("0::/a\n", {{"a/memory.max", "1000000\n"}, {"a/memory.current", "400000\n"}, {"memory.max", "max\n"}});
  const auto limits = v2.groups.memory_limits(2'000'000);
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].limit, 1'000'000u);
  EXPECT_EQ(limits[0].used, 400'000u);
  EXPECT_TRUE(v2.groups.memory_limits(1'000'000).empty());
  const Tree v1("4:memory:/a\n", {{"memory/a/memory.limit_in_bytes", "9223372036854771712\n"},
                                  {"memory/a/memory.usage_in_bytes", "1\n"},
                                  {"memory/memory.limit_in_bytes", "500\n"},
                                  {"memory/memory.usage_in_bytes", "100\n"}});
  ASSERT_EQ(v1.groups.memory_limits(1'000'000).size(), 1u);
  EXPECT_EQ(v1.groups.memory_limits(1'000'000)[0].limit, 500u);
}

TEST(ControlGroups, UnusedFileCacheIsNoMemoryThatIsTaken) {
  const Tree v2("0::/a\n", {{"a/memory.max", "2000\n"},
                            {"a/memory.current", "1900\n"},
                            {"a/memory.stat", "anon 10\nactive_file 90\ninactive_file 1500\n"}});
  EXPECT_EQ(v2.groups.memory_limits(10'000).at(0).used, 400u);
  const Tree v1("4:memory:/a\n", {{"memory/a/memory.limit_in_bytes", "2000\n"},
                                  {"memory/a/memory.usage_in_bytes", "1900\n"},
                                  {"memory/a/memory.stat", "inactive_file 7\ntotal_inactive_file 2500\n"}});
  EXPECT_EQ(v1.groups.memory_limits(10'000).at(0).used, 0u)
      << "more than is used: the files are read at different times";
}

TEST(ControlGroups, ThreadsWithinAQuota) {
  EXPECT_EQ(threads_within(std::numeric_limits<double>::infinity(), 16), 16);
  EXPECT_EQ(threads_within(2.9, 16), 2);
  EXPECT_EQ(threads_within(0.3, 16), 1);
  EXPECT_EQ(threads_within(64, 16), 16);
  EXPECT_EQ(threads_within(0, 0), 1);
}

}  // namespace
}  // namespace rung
