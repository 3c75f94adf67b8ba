/// Differences that the element-by-element comparison of all judges accepts.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Check compared(double got, double want, double bound) {
  return compare_elements("y", &got, 1, [=](std::int64_t) { return Expected{want, bound}; });
}

TEST(CompareElements, WithinTheBoundPassesAndTellsItsShare) {
  EXPECT_TRUE(compared(1.5, 1, 1).failure.empty());
  EXPECT_EQ(compared(1.5, 1, 1).max_error_ratio, 0.5);
  EXPECT_EQ(compared(1, 1, 1).max_error_ratio, 0);
  EXPECT_TRUE(compared(1, 1, 0).failure.empty());
}

TEST(CompareElements, BeyondTheBoundFailsAndTellsByHowMuch) {
  EXPECT_EQ(compared(4, 1, 1).failure, "y[0] is 4, not 1");
  EXPECT_EQ(compared(4, 1, 1).max_error_ratio, 3);
  EXPECT_FALSE(compared(1.0000001, 1, 0).failure.empty());
}

TEST(CompareElements, NanAndInfinityPassOnlyWhereTheyShouldBe) {
  for (const double special : {kNan, kInf, -kInf}) {
    EXPECT_TRUE(compared(special, special, 1).failure.empty()) << special;
    EXPECT_TRUE(compared(special, special, kInf).failure.empty()) << special;
    EXPECT_FALSE(compared(special, 1, 1).failure.empty()) << special;
    EXPECT_FALSE(compared(special, 1, 0).failure.empty()) << special;
    EXPECT_FALSE(compared(1, special, 1).failure.empty()) << special;
    EXPECT_FALSE(compared(1, special, kInf).failure.empty()) << special;
  }
  EXPECT_FALSE(compared(kInf, -kInf, kInf).failure.empty());
  EXPECT_EQ(compared(kInf, 1, kInf).max_error_ratio, 0) << "where anything passes there is no share";
  EXPECT_FALSE(compared(1, 1, kNan).failure.empty()) << "a bound that is no number lets nothing pass";
}

TEST(CompareElements, TheFirstWrongOneIsNamedAndTheLargestShareKept) {
  std::vector<double> got(100'000, 1);
  got[70'001] = 3, got[70'000] = 2.5, got[5] = 1.25;
  const Check check = compare_elements("y", got.data(), std::ssize(got), [](std::int64_t) { return Expected{1, 1}; });
  EXPECT_EQ(check.failure, "y[70000] is 2.5, not 1");
  EXPECT_EQ(check.max_error_ratio, 2);
}

}  // namespace
}  // namespace rung
