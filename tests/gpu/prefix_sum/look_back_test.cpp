/// The scan whose blocks wait for each other, on the emulator: with more tiles than a warp looks back over at once, and
/// with several blocks in flight at a time.
#include <gtest/gtest.h>

#include "common/harness/count.hpp"
#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

/// 69 tiles of 1024 elements, the last of them in part.
Point many_tiles(const std::string& data = "") {
  return point_of(find_kernel("gpu/prefix_sum/look_back"), {{"n", 70001}, {"items", 8}, {"threads", 128}}, data);
}

TEST(LookBack, IsRightAndHasNoHazardInAnyOrderOfBlocks) {
  const UseThreads threads(4);  // blocks that run at a time
  for (const Order order : {Order::forward, Order::reverse, Order::random})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto [counts, check] =
          count(many_tiles(), {.order = order, .seed = seed, .counting = false, .hazards = true});
      EXPECT_TRUE(counts.findings.empty()) << counts.findings.front().text();
      EXPECT_TRUE(check.passed()) << check.reason();
    }
}

TEST(LookBack, TheCountedBytesAreNoMatterOfChance) {
  const Point point = many_tiles("integers");
  const Traffic declared = point.kernel->gpu.requested(point.params());
  for (const int threads : {1, 4})
    for (const Order order : {Order::forward, Order::random}) {
      const UseThreads scope(threads);
      const auto [counts, check] = count(point, {.order = order});
      EXPECT_TRUE(check.passed()) << check.reason();
      EXPECT_EQ(static_cast<double>(counts.bytes_loaded), declared.loaded);
      EXPECT_EQ(static_cast<double>(counts.bytes_stored), declared.stored);
    }
}

}  // namespace
}  // namespace rung
