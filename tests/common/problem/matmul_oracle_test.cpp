/// The judge of the matrix product: it must pass what is right in FP32 and fail each way of being wrong.
#include <gtest/gtest.h>

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
    for (const DataSet& fill : {integers(), random_reals()}) {
      const Check check = Case(shape, fill).check();
      EXPECT_TRUE(check.passed()) << shape.text() << ": " << check.failure;
    }
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
