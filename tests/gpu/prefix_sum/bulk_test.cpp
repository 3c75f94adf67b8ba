/// The scan by blocks whose warps have a task each, on the emulator: blocks run at the same time, and their threads
/// in every order.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/harness/count.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/device_facts.hpp"
#include "common/model/devices.hpp"

namespace rung {
namespace {

/// 49 tiles for rings of 8, or 13 for rings of 2; the last of them in part.
Point many_tiles(int tile, int lag) {
  const Kernel& kernel = find_kernel("gpu/prefix_sum/bulk");
  return point_of(kernel, {{"n", 100001}, {"tile", tile}, {"ring", 64}, {"flying", 32}, {"lag", lag}});
}

/// The bits of one run's result, in this order of threads and blocks; right, and without hazards.
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

/// Two blocks have many tiles each, more than the ring holds; 16 blocks have at most four, 132 have one.
TEST(BulkPrefixSum, IsTheSameToTheBitInEveryOrder) {
  for (const int blocks : {2, 16, 132}) {
    Device device = find_device("h200");
    device.sm_count = blocks;
    const AssumedDevice assumed(device);
    for (const int tile : {2048, 8192})
      for (const int lag : {0, 3}) {
        const Point point = many_tiles(tile, lag);
        SCOPED_TRACE(point.name() + " on " + std::to_string(blocks));
        const std::vector<std::uint32_t> first = bits_of(point, {.counting = false, .hazards = true});
        for (const Order order : {Order::reverse, Order::random})
          EXPECT_TRUE(bits_of(point, {.order = order, .seed = 2, .counting = false, .hazards = true}) == first);
      }
  }
}

}  // namespace
}  // namespace rung
