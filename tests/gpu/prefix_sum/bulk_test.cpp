/// The scan by tiles that blocks take as they come, on the emulator: several blocks are under way at a time, and have
/// other tiles in every order.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "common/harness/count.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/machine/device_facts.hpp"
#include "common/model/devices.hpp"

namespace rung {
namespace {

/// 49 tiles for rings of 8, or 13 for rings of 2; the last of them in part.
Point many_tiles(int tile, const Value& output) {
  const Kernel& kernel = find_kernel("gpu/prefix_sum/bulk");
  return point_of(kernel, {{"n", 100001}, {"tile", tile}, {"ring", 64}, {"flying", 2}, {"output", output}});
}

/// What one run leaves, in this order of threads and blocks; right, and without hazards.
std::vector<std::uint32_t> bits_of(const Point& point, const EmulatorOptions& options) {
  const auto emulator = open_emulator();
  Call call{.params = point.params()};
  call.launch = point.kernel->gpu.launch(call.params);
  Workload workload(*emulator, *point.kernel, *point.problem, call);
  const HostInputs inputs(*point.problem, point.sizes, *point.data, 20260101);
  Recording recording(options);
  const Check check = workload.verify(inputs);
  EXPECT_TRUE(check.passed()) << check.reason();
  const std::vector<Finding> findings = recording.counts().findings;
  EXPECT_TRUE(findings.empty()) << findings.front().text();
  std::vector<std::uint32_t> bits(point.sizes.at("n"));
  std::memcpy(bits.data(), workload.call().operands[1], 4 * bits.size());
  return bits;
}

TEST(BulkPrefixSum, IsTheSameToTheBitWhoeverHasATile) {
  const AssumedDevice assumed(find_device("h200"));  // so that there are more than two blocks
  const UseThreads threads(4);                       // blocks that run at a time
  for (const int tile : {2048, 8192})
    for (const Value& output : find_kernel("gpu/prefix_sum/bulk").tunables.back().values) {
      const Point point = many_tiles(tile, output);
      SCOPED_TRACE(point.name());
      const std::vector<std::uint32_t> first = bits_of(point, {.counting = false, .hazards = true});
      for (const Order order : {Order::forward, Order::reverse, Order::random})
        EXPECT_TRUE(bits_of(point, {.order = order, .seed = 2, .counting = false, .hazards = true}) == first);
    }
}

}  // namespace
}  // namespace rung
