/// Cores and caches from a folder as /sys/devices/system/cpu, and as this machine has them.
#include "common/machine/topology.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

/// Four processors on two cores with an L1 and an L2 each, and one L3; as Linux writes it.
class Files {
 public:
  Files() {
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string at = "cpu" + std::to_string(cpu) + "/", core = std::to_string(cpu / 2);
      const std::string pair = cpu < 2 ? "0-1" : "2-3";
      put(at + "topology/core_id", core);
      put(at + "topology/physical_package_id", "0");
      cache(at + "cache/index0/", "1", "Data", "48K", pair, core);
      cache(at + "cache/index1/", "1", "Instruction", "32K", pair, core);
      cache(at + "cache/index2/", "2", "Unified", "2048K", pair, core);
      cache(at + "cache/index3/", "3", "Unified", "30M", "0-3", "0");
    }
  }
  std::filesystem::path path() const { return folder_.path(); }
  void put(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / file).parent_path());
    std::ofstream(folder_.path() / file) << text << '\n';
  }

 private:
  void cache(const std::string& at, const std::string& level, const std::string& type, const std::string& size,
             const std::string& shared, const std::string& id) {
    put(at + "level", level);
    put(at + "type", type);
    put(at + "size", size);
    put(at + "shared_cpu_list", shared);
    put(at + "id", id);
  }
  TemporaryFolder folder_;
};

using Sizes = std::vector<std::size_t>;

TEST(Topology, CountsCoresAndTheCachesThatTheyShare) {
  const Files files;
  const auto all = topology_in(files.path(), {0, 1, 2, 3});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->cores, 2);
  EXPECT_EQ(all->hardware_threads, 4);
  EXPECT_EQ(all->l1d, (Sizes{48 << 10, 48 << 10}));
  EXPECT_EQ(all->l2, (Sizes{2 << 20, 2 << 20}));
  EXPECT_EQ(all->l3, (Sizes{30 << 20}));
}

TEST(Topology, CountsOnlyWhatTheProcessMayUse) {
  const Files files;
  const auto one = topology_in(files.path(), {2});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->cores, 1);
  EXPECT_EQ(one->hardware_threads, 1);
  EXPECT_EQ(one->l2, (Sizes{2 << 20}));
}

TEST(Topology, LeavesOutCachesOfNoSizeAndFoldersOfNoProcessor) {
  Files files;
  for (int cpu = 0; cpu < 4; ++cpu) files.put("cpu" + std::to_string(cpu) + "/cache/index3/size", "");
  EXPECT_EQ(topology_in(files.path(), {0, 1, 2, 3, 17})->l3, Sizes{});
  EXPECT_FALSE(topology_in(files.path(), {17}));
}

TEST(Topology, OfThisMachineAgreesWithItsFiles) {
  const auto read = read_topology(), in_files = topology_in("/sys/devices/system/cpu", processors_of_process());
  if (!read || !in_files) GTEST_SKIP() << "this machine does not report its topology";
  EXPECT_EQ(read->hardware_threads, in_files->hardware_threads);
  if (!in_files->l2.empty() && !read->l2.empty()) {
    EXPECT_EQ(read->l2.front(), in_files->l2.front());
  }
}

}  // namespace
}  // namespace rung
