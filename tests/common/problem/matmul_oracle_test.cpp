/// The judge of the matrix product: it must pass right results in FP32 and fail each kind of error.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

/// A product with its inputs, computed in float32 in plain order.
struct Case {
  Params sizes;
  const DataSet& fill;
  std::vector<float> a, b, c;
  Judge judge;

  Case(const Params& given, const DataSet& how) : sizes(find_problem("matmul").complete(given)), fill(how) {
    const Problem& problem = find_problem("matmul");
    const auto m = std::size_t(sizes.at("m")), n = std::size_t(sizes.at("n")), k = std::size_t(sizes.at("k"));
    a.resize(m * k);
    b.resize(k * n);
    c.resize(m * n);
    void* host[] = {a.data(), b.data(), c.data()};
    problem.fill(sizes, fill, 7, host);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t p = 0; p < k; ++p)
        for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
    const void* inputs[] = {a.data(), b.data(), c.data()};
    judge = problem.reference(sizes, fill, 7, inputs);
  }
  Check check() const {
    const void* host[] = {a.data(), b.data(), c.data()};
    return judge(host);
  }
};

const std::vector<Params> kShapes{{{"n", 1}},
                                  {{"n", 2}},
                                  {{"n", 33}},
                                  {{"m", 1}, {"n", 7}, {"k", 300}},
                                  {{"m", 257}, {"n", 3}, {"k", 1}},
                                  {{"m", 300}, {"n", 311}, {"k", 17}}};

TEST(MatmulOracle, PassesAPlainProduct) {
  for (const Params& shape : kShapes)
    for (const DataSet& fill : find_problem("matmul").data) {
      const Check check = Case(shape, fill).check();
      EXPECT_TRUE(check.passed()) << shape.text() << ", " << fill.name << ": " << check.reason();
      EXPECT_EQ(check.judged.contains("largest_error"), !fill.is_exact);
    }
}

const DataSet& data(const char* name) { return find_problem("matmul").data_set(name); }

TEST(MatmulData, RowsAndColumnsHaveScalesOfTheirOwn) {
  const Case scaled({{"m", 40}, {"n", 30}, {"k", 50}}, data("scaled")),
      plain({{"m", 40}, {"n", 30}, {"k", 50}}, random_reals());
  double least = 1e300, most = 0;
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 50; ++j) {
      const auto scale = [&](std::size_t row, std::size_t col) {
        return std::abs(double(scaled.a[row * 50 + col]) / plain.a[row * 50 + col]);
      };
      EXPECT_DOUBLE_EQ(scale(i, j) * scale(0, 0), scale(i, 0) * scale(0, j))
          << "a power of the row times one of the column";
      least = std::min(least, scale(i, j));
      most = std::max(most, scale(i, j));
    }
  EXPECT_GE(least, 0x1p-40);
  EXPECT_LE(most, 0x1p40);
  EXPECT_GT(most / least, 0x1p50);
}

TEST(MatmulData, SumsCancel) {
  for (const int k : {256, 257}) {
    const Case cancelling({{"m", 20}, {"n", 20}, {"k", k}}, data("cancelling"));
    double sums = 0, sizes = 0;
    for (std::size_t i = 0; i < 20; ++i)
      for (std::size_t j = 0; j < 20; ++j) {
        double sum = 0;
        for (std::size_t p = 0; p < 256; ++p) {
          const double term = double(cancelling.a[i * k + p]) * cancelling.b[p * 20 + j];
          sum += term;
          sizes += std::abs(term);
        }
        sums += std::abs(sum);
      }
    EXPECT_LT(sums, sizes * 0x1p-12) << "k = " << k;
    EXPECT_GT(sums, 0) << "k = " << k;
  }
}

// --- the bound by norm ----------------------------------------------------------------------------------------------

constexpr ErrorBound kByNorm{.factor = 20, .by_norm = true};

TEST(MatmulOracle, ByNormFailsInexactElementsAndZeros) {
  Case wrong({{"n", 64}}, random_reals());
  EXPECT_TRUE(wrong.check().within(kByNorm).passed());
  wrong.c[100] += 0.001f;
  EXPECT_FALSE(wrong.check().within(kByNorm).passed());
  std::fill(wrong.c.begin(), wrong.c.end(), 0.0f);
  EXPECT_FALSE(wrong.check().within(kByNorm).passed());
  Case whole({{"n", 64}}, integers());
  EXPECT_TRUE(whole.check().within(kByNorm).passed());
  whole.c[77] += 1;
  EXPECT_FALSE(whole.check().within(kByNorm).passed()) << "whole numbers are exact by any bound";
}

TEST(MatmulOracle, ByNormPassesWhatASmallElementLosesToLargeOnes) {
  Case spread({{"n", 64}}, data("scaled"));
  const auto by_size = [](float x, float y) { return std::abs(x) < std::abs(y); };
  const float largest = std::abs(*std::max_element(spread.c.begin(), spread.c.end(), by_size));
  float& least = *std::min_element(spread.c.begin(), spread.c.end(), by_size);
  least += largest * 0x1p-24f;
  EXPECT_FALSE(spread.check().passed());
  EXPECT_NE(spread.check().reason().find("times its bound"), std::string::npos) << spread.check().reason();
  EXPECT_TRUE(spread.check().within(kByNorm).passed());
}

TEST(MatmulOracle, AFactorWidensTheBound) {
  Case off({{"n", 64}}, random_reals());
  off.c[5] += 0.01f;
  const double ratio = off.check().max_error_ratio;
  ASSERT_GT(ratio, 1);
  EXPECT_FALSE(off.check().within({.factor = ratio * 0.99}).passed());
  EXPECT_TRUE(off.check().within({.factor = ratio * 1.01}).passed());
  EXPECT_FALSE(Check{.failure = "wrong"}.within({.factor = 1e9}).passed());
  EXPECT_THROW(Check{}.within(kByNorm), Error) << "no problem but this one has a bound by norm";
}

TEST(MatmulOracle, FailsOneWrongElementAnywhere) {
  for (const Params& shape : kShapes) {
    Case wrong(shape, integers());
    for (std::size_t i = 0; i < wrong.c.size(); i += 1 + wrong.c.size() / 97) {
      wrong.c[i] += 1;
      EXPECT_FALSE(wrong.check().passed()) << shape.text() << " at " << i;
      wrong.c[i] -= 1;
    }
  }
}

/// Each judge draws the compared elements at random; the projections cover the others.
TEST(MatmulOracle, FailsOneWrongRealAnywhereInALargeProduct) {
  Case wrong({{"n", 300}}, random_reals());
  EXPECT_TRUE(wrong.check().passed()) << wrong.check().reason();
  for (std::size_t i = 0; i < wrong.c.size(); i += 1 + wrong.c.size() / 97) {
    const float right = wrong.c[i];
    wrong.c[i] += 0.05f;
    EXPECT_FALSE(wrong.check().passed()) << "at " << i;
    wrong.c[i] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(wrong.check().passed()) << "NaN at " << i;
    wrong.c[i] = right;
  }
}

TEST(MatmulOracle, FailsNanAndInfinity) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const DataSet& fill : {integers(), random_reals()}) {
      Case wrong({{"n", 33}}, fill);
      wrong.c[500] = bad;
      EXPECT_FALSE(wrong.check().passed());
    }
}

TEST(MatmulOracle, FailsAMissingLastTerm) {
  Case wrong({{"m", 300}, {"n", 300}, {"k", 64}}, integers());
  bool any = false;
  for (std::size_t i = 0; i < 300; ++i)
    for (std::size_t j = 0; j < 300; ++j) {
      const float term = wrong.a[i * 64 + 63] * wrong.b[63 * 300 + j];
      wrong.c[i * 300 + j] -= term;
      any |= term != 0;
    }
  ASSERT_TRUE(any);
  EXPECT_FALSE(wrong.check().passed());
}

/// Rounds to the 10-bit mantissa of TF32.
float tf32(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x1000) & 0xFFFFE000;
  std::memcpy(&x, &bits, 4);
  return x;
}

TEST(MatmulOracle, FailsTf32PassingForFp32) {
  Case wrong({{"n", 200}}, random_reals());
  std::fill(wrong.c.begin(), wrong.c.end(), 0.0f);
  for (std::size_t i = 0; i < 200; ++i)
    for (std::size_t p = 0; p < 200; ++p)
      for (std::size_t j = 0; j < 200; ++j)
        wrong.c[i * 200 + j] += tf32(wrong.a[i * 200 + p]) * tf32(wrong.b[p * 200 + j]);
  EXPECT_FALSE(wrong.check().passed());
}

TEST(MatmulOracle, InputsAreNeverZerosAndDependOnTheSeed) {
  std::vector<float> one(1000), two(1000);
  for (const DataSet& fill : {integers(), random_reals()}) {
    fill_float(one, fill, 1);
    fill_float(two, fill, 2);
    EXPECT_NE(one, two);
    double square = 0;
    for (const float x : one) {
      square += x * x;
      EXPECT_LE(std::abs(x), fill.is_exact ? 8 : 1);
    }
    EXPECT_GT(square, 100);
  }
}

}  // namespace
}  // namespace rung
