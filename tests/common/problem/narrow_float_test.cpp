/// Conversions of 16-bit floating-point numbers, each of them and around every tie.
#include "common/problem/narrow_float.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace rung {
namespace {

TEST(Fp16, EveryNumberComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto x = static_cast<Fp16>(bits);
    if (std::isnan(from_fp16(x)))
      EXPECT_TRUE(std::isnan(from_fp16(to_fp16(from_fp16(x)))));
    else
      EXPECT_EQ(to_fp16(from_fp16(x)), x);
  }
}

/// Between neighbours the nearer one, and for a tie the even one. Numbers and their bits have the same order.
TEST(Fp16, RoundsToTheNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = from_fp16(static_cast<Fp16>(bits)), high = from_fp16(static_cast<Fp16>(bits + 1));
    ASSERT_LT(low, high);
    const float middle = low + (high - low) / 2;  // exact: a bit more than they have
    const auto even = static_cast<Fp16>(bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(to_fp16(middle), even);
    EXPECT_EQ(to_fp16(-middle), even | 0x8000);
    EXPECT_EQ(to_fp16(std::nextafter(middle, low)), bits);
    EXPECT_EQ(to_fp16(std::nextafter(middle, high)), bits + 1);
  }
}

TEST(Fp16, IsInfiniteFromTheMiddleBeyondTheLargest) {
  EXPECT_EQ(from_fp16(0x7bff), 65504);
  EXPECT_EQ(to_fp16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(to_fp16(65520.0f), 0x7c00);
  EXPECT_EQ(to_fp16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_TRUE(std::isnan(from_fp16(to_fp16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(to_fp16(0x1p-26f), 0);
  EXPECT_EQ(from_fp16(1), 0x1p-24f);
}

}  // namespace
}  // namespace rung
