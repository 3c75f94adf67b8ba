/// A roof is measured again if a verified point of its side, type and threads exceeds it.
#include "common/harness/roofs.hpp"

#include <gtest/gtest.h>

namespace rung {
namespace {

Point roof_of(const char* kernel, int threads) {
  const Kernel& known = find_kernel(kernel);
  Point roof = point_of(known, {});
  roof.is_roof = true;
  roof.threads = threads;
  return roof;
}

Point product(int threads, std::int64_t n) {
  Point point = point_of(find_kernel("cpu/matmul/fused"), {{"n", n}});
  point.threads = threads;
  return point;
}

struct Roofs : testing::Test {
  const Point fma = roof_of("cpu/fma/scalar", 2), fma_of_one = roof_of("cpu/fma/scalar", 1),
              tiles = roof_of("cpu/fma/amx_bf16", 2), dram = roof_of("cpu/read/dram", 2);
  std::vector<MeasuredPoint> measured{{&fma, 100, 1}, {&fma_of_one, 50, 1}, {&tiles, 900, 1}, {&dram, 0, 20}};

  std::vector<const Point*> with(const Point& point, double gflops, double gbytes, double cached = 1e6) {
    std::vector<MeasuredPoint> all = measured;
    all.push_back({&point, gflops, gbytes});
    return exceeded_roofs(all, cached);
  }
};

using RoofsMeasuredAgain = Roofs;

TEST_F(RoofsMeasuredAgain, AreThoseOfTheSameThreadsAndType) {
  const Point two = product(2, 64), one = product(1, 64);
  EXPECT_TRUE(with(two, 100.9, 1).empty()) << "within 1 %";
  EXPECT_EQ(with(two, 315, 1), (std::vector<const Point*>{&fma}));
  EXPECT_EQ(with(one, 60, 1), (std::vector<const Point*>{&fma_of_one}));
}

TEST_F(RoofsMeasuredAgain, AreOfMemoryOnlyWhereNoCacheHoldsTheOperands) {
  const Point large = product(2, 4096), small = product(2, 64);
  EXPECT_EQ(with(large, 10, 21), (std::vector<const Point*>{&dram}));
  EXPECT_TRUE(with(large, 10, 21, 1e9).empty()) << "the caches may have held it";
  EXPECT_TRUE(with(small, 10, 21).empty());
}

using PointsAboveRoofs = Roofs;

TEST_F(PointsAboveRoofs, AreThoseBeyondTheMargin) {
  const Point two = product(2, 64), large = product(2, 4096);
  const auto above = [&](const Point& point, double gflops, double gbytes, double clock = 0, double cached = 1e6) {
    std::vector<MeasuredPoint> all = measured;
    for (MeasuredPoint& roof : all) roof.clock_mhz = clock > 0 ? 2000 : 0;
    all.push_back({&point, gflops, gbytes, clock});
    return points_above_roofs(all, cached).size();
  };
  EXPECT_EQ(above(two, 104, 1), 0u) << "within 5 %";
  EXPECT_EQ(above(two, 106, 1), 1u);
  EXPECT_EQ(above(two, 106, 1, 2200), 0u) << "at a higher clock than the roof";
  EXPECT_EQ(above(large, 10, 22), 1u);
  EXPECT_EQ(above(large, 10, 22, 0, 2e7), 0u) << "the caches may have kept a tenth of it";
}

TEST_F(PointsAboveRoofs, AreNotThoseThatDoOtherOperations) {
  Kernel fast = find_kernel("cpu/matmul/fused");
  fast.error_bound = {.factor = 20, .by_norm = true};
  Point point = product(2, 64);
  point.kernel = &fast;
  std::vector<MeasuredPoint> all = measured;
  all.push_back({&point, 200, 1});
  EXPECT_TRUE(points_above_roofs(all, 1e6).empty());
}

TEST_F(RoofsMeasuredAgain, AreNoneWithoutRoofs) {
  const Point two = product(2, 64);
  EXPECT_TRUE(exceeded_roofs({{&two, 1e6, 1e6}}, 1).empty());
}

}  // namespace
}  // namespace rung
