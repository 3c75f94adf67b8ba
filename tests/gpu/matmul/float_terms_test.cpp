/// FP32's accuracy from tensor cores, without a GPU: what splitting a float32 into terms loses, which products of the
/// terms are added and in which order, and how large the errors of a long sum are where tensor cores cut off what they
/// add, beside those of a chain of FMAs as SGEMM has.
#include "gpu/matmul/float_terms.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"
#include "tests/gpu/matmul/tensor_core_model.hpp"

namespace rung {
namespace {

using wgmma::kTermDepth;
using wgmma::split_float;
using wgmma::term_offset;
using wgmma::term_product;
using wgmma::terms_of;

// --- the terms of a number ----------------------------------------------------------------------------------------

/// Random bits as a float32 with an exponent from `least` to `most`.
float any_float(std::uint64_t i, int least, int most) {
  const std::uint64_t bits = random_bits(5, i);
  const double size = std::ldexp(1 + double(bits & 0x7fffff) * 0x1p-23, least + int((bits >> 32) % (most - least + 1)));
  return static_cast<float>(bits >> 63 ? -size : size);
}

template <Type kType>
std::vector<float> terms(float x) {
  std::vector<float> all(terms_of(kType));
  split_float<kType>(x, all.data());
  return all;
}

double sum_of(const std::vector<float>& terms) {
  double sum = 0;
  for (const float term : terms) sum += term;
  return sum;
}

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(FloatTerms, ThreeBf16AreTheNumber) {
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const float x = any_float(i, -110, 127);
    const std::vector<float> all = terms<Type::bf16>(x);
    ASSERT_EQ(sum_of(all), x);
    for (int t = 0; t < 3; ++t) {
      ASSERT_EQ(bits_of(all[t]) & 0xffff, 0u) << "a BF16";
      if (t > 0 && std::abs(all[t - 1]) < FLT_MAX / 4) {
        ASSERT_LE(std::abs(all[t]), std::abs(all[t - 1]) * 0x1p-8f) << x;
      }
    }
  }
}

TEST(FloatTerms, TwoTf32MissTheNumberByHalfARounding) {
  double largest = 0;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const float x = any_float(i, -113, 127);
    const std::vector<float> all = terms<Type::tf32>(x);
    for (const float term : all) ASSERT_EQ(bits_of(term) & 0x1fff, 0u) << "a TF32";
    largest = std::max(largest, std::abs(sum_of(all) - x) / std::abs(double(x)));
  }
  EXPECT_LE(largest, 0x1p-23);
  EXPECT_GT(largest, 0x1p-24) << "so two TF32 are less than a float32";
}

/// The two FP16 of a scaled number, as the splitting kernel makes them; the second is 2^12 times what it stands for.
std::array<float, 2> halves(float x) {
  const float first = from_fp16(to_fp16(x));
  return {first, from_fp16(to_fp16((x - first) * wgmma::kSecondFp16))};
}

TEST(FloatTerms, TwoFp16MissAScaledNumberByHalfARoundingOrByTheLeast) {
  double largest = 0;
  for (std::uint64_t i = 0; i < 400000; ++i) {
    const float x = any_float(i, -40, 14);
    const auto [first, second] = halves(x);
    const double missed = std::abs(double(first) + double(second) / wgmma::kSecondFp16 - x);
    if (std::abs(x) >= wgmma::kFullFp16)
      largest = std::max(largest, missed / std::abs(double(x)));
    else
      ASSERT_LE(missed, wgmma::kMissedFp16) << x;
  }
  EXPECT_LE(largest, 0x1p-23);
  EXPECT_GT(largest, 0x1p-24);
  for (const float x : {0x1.fffffep14f, -0x1.fffffep14f, 0x1.ffcp14f, 0x1p14f})  // next to the largest
    EXPECT_LE(std::abs(double(halves(x)[0]) + double(halves(x)[1]) / wgmma::kSecondFp16 - x), 0x1p-23 * std::abs(x));
}

TEST(FloatTerms, AtTheEndsOfTheRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {FLT_MAX, -FLT_MAX, std::nextafter(FLT_MAX, 0.0f), 0x1.ffp127f}) {
    EXPECT_EQ(sum_of(terms<Type::bf16>(x)), x);
    EXPECT_LE(std::abs(sum_of(terms<Type::tf32>(x)) - x), 0x1.001p-23 * std::abs(double(x)));
  }
  for (const float x : {infinity, -infinity}) {
    EXPECT_EQ(terms<Type::bf16>(x), (std::vector<float>{x, 0, 0}));
    EXPECT_EQ(terms<Type::tf32>(x), (std::vector<float>{x, 0}));
  }
  for (const std::uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(terms<Type::bf16>(nan)[0])) << bits;
    EXPECT_TRUE(std::isnan(terms<Type::tf32>(nan)[0])) << bits;
    EXPECT_EQ(terms<Type::bf16>(nan)[1], 0);
  }
  for (const float x : {0.0f, -0.0f}) EXPECT_EQ(sum_of(terms<Type::bf16>(x)), 0);
}

TEST(FloatTerms, WhatIsBelowTheSmallestNumberOfTheTypeIsLost) {
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const float x = any_float(i, -149, -100);
    ASSERT_LE(std::abs(sum_of(terms<Type::bf16>(x)) - x), 0x1p-134) << x;
    ASSERT_LE(std::abs(sum_of(terms<Type::tf32>(x)) - x), std::max(0x1p-137, std::abs(x) * 0x1p-23)) << x;
  }
  EXPECT_EQ(sum_of(terms<Type::bf16>(0x1p-133f)), 0x1p-133);
  EXPECT_EQ(sum_of(terms<Type::bf16>(0x1p-149f)), 0);
  EXPECT_EQ(sum_of(terms<Type::tf32>(0x1p-136f)), 0x1p-136);
}

/// Not as in SGEMM, which has an infinity there.
TEST(FloatTerms, OfAnInfinityTimesANumberMakeNan) {
  const auto infinity = terms<Type::bf16>(std::numeric_limits<float>::infinity()), one = terms<Type::bf16>(1.0f);
  double sum = 0;
  for (const float a : infinity)
    for (const float b : one) sum += double(a) * b;
  EXPECT_TRUE(std::isnan(sum));
}

// --- where they lie, and what is multiplied -----------------------------------------------------------------------

TEST(FloatTerms, InFp16FillABlockTheSecondOnesFirst) {
  std::set<int> taken;
  for (int term = 0; term < 2; ++term)
    for (int i = 0; i < wgmma::term_depth(Type::fp16); ++i) {
      const int at = term_offset(Type::fp16, term, i);
      EXPECT_TRUE(taken.insert(at).second);
      EXPECT_EQ(at / wgmma::kTermBlockBytes, 1 - term) << "a step has one of the terms";
      EXPECT_LE(at + 2, wgmma::term_block_bytes(Type::fp16));
    }
}

TEST(FloatTerms, OfABlockLieInSlotsOfOneTermEach) {
  for (const Type type : {Type::tf32, Type::bf16}) {
    const int bytes = type == Type::tf32 ? 4 : 2;
    std::set<int> taken;
    for (int term = 0; term < terms_of(type); ++term)
      for (int i = 0; i < kTermDepth; ++i) {
        const int at = term_offset(type, term, i);
        EXPECT_TRUE(taken.insert(at).second);
        EXPECT_LE(at + bytes, wgmma::kTermBlockBytes);
        const int slots = kTermDepth * bytes / wgmma::kSlotBytes;
        EXPECT_EQ(at / wgmma::kSlotBytes / slots, term) << "no slot has two terms";
      }
  }
}

/// The terms that a step multiplies, of A and of B, one instruction after the other.
std::vector<std::pair<int, int>> pairs(Type type, int products) {
  const int halves = type == Type::tf32 ? 2 : 1;
  std::vector<std::pair<int, int>> all;
  for (int i = 0; i < products * halves; ++i) {
    const auto [a, b] = term_product(type, products, i);
    EXPECT_EQ(a % halves, b % halves) << "the same numbers along k";
    all.emplace_back(a / halves, b / halves);
  }
  return all;
}

TEST(FloatTerms, AreMultipliedFromTheSmallestProductsUp) {
  struct Case {
    Type type;
    int products, left_out;  // products of terms whose places add up to so much or more
  };
  for (const auto& [type, products, left_out] : {Case{Type::tf32, 3, 2}, {Type::bf16, 6, 3}, {Type::bf16, 9, 9}}) {
    const auto all = pairs(type, products);
    const int halves = type == Type::tf32 ? 2 : 1;
    std::set<std::pair<int, int>> wanted;
    for (int a = 0; a < terms_of(type); ++a)
      for (int b = 0; b < terms_of(type); ++b)
        if (a + b < left_out) wanted.emplace(a, b);
    EXPECT_EQ(std::set(all.begin(), all.end()), wanted) << products;
    EXPECT_EQ(all.size(), wanted.size() * halves) << "none twice";
    for (std::size_t i = 1; i < all.size(); ++i)
      EXPECT_GE(all[i - 1].first + all[i - 1].second, all[i].first + all[i].second) << products;
  }
}

// --- the errors of sums ---------------------------------------------------------------------------------------------

constexpr int kSide = 16;  // rows and columns of C

/// A product with its inputs.
struct Product {
  int k;
  std::vector<float> a, b;

  Product(int depth, const std::string& data) : k(depth), a(kSide * k), b(kSide * k) {
    const Problem& problem = find_problem("matmul");
    const Params sizes = problem.complete({{"m", kSide}, {"n", kSide}, {"k", k}});
    void* const operands[] = {a.data(), b.data(), nullptr};
    problem.fill(sizes, problem.data_set(data), 3, operands);
  }
  float b_at(int i, int col) const { return b[i * kSide + col]; }
};

/// The largest error over |A||B|, in units of 2^-24, where sum_of(row, col) is an element of C.
template <typename SumOf>
double largest_error(const Product& p, const SumOf& sum_of) {
  double largest = 0;
#pragma omp parallel for reduction(max : largest)
  for (int row = 0; row < kSide; ++row)
    for (int col = 0; col < kSide; ++col) {
      double want = 0, size = 0;
      for (int i = 0; i < p.k; ++i) {
        const double term = double(p.a[row * p.k + i]) * p.b_at(i, col);
        want += term;
        size += std::abs(term);
      }
      largest = std::max(largest, std::abs(sum_of(row, col) - want) / size);
    }
  return largest * 0x1p24;
}

/// As SGEMM does it: one FMA after the other.
double sgemm_error(const Product& p) {
  return largest_error(p, [&](int row, int col) {
    float sum = 0;
    for (int i = 0; i < p.k; ++i) sum = std::fma(p.a[row * p.k + i], p.b_at(i, col), sum);
    return sum;
  });
}

/// Rows of k as the splitting kernel leaves them: a block's terms, term after term.
template <Type kType>
std::vector<float> split_rows(int k, const std::vector<float>& x, bool by_columns) {
  constexpr int kTerms = terms_of(kType);
  const int blocks = (k + kTermDepth - 1) / kTermDepth;
  std::vector<float> all(kSide * blocks * kTermDepth * kTerms);
  for (int row = 0; row < kSide; ++row)
    for (int i = 0; i < k; ++i) {
      float term[kTerms];
      split_float<kType>(by_columns ? x[i * kSide + row] : x[row * k + i], term);
      for (int t = 0; t < kTerms; ++t)
        all[((row * blocks + i / kTermDepth) * kTerms + t) * kTermDepth + i % kTermDepth] = term[t];
    }
  return all;
}

/// As the rungs do it: sums of `steps` steps on the tensor cores, then added in float32.
template <Type kType>
double terms_error(const Product& p, int products, int steps = 1) {
  constexpr int kTerms = terms_of(kType), kDepth = kType == Type::tf32 ? 8 : 16, kHalves = kTermDepth / kDepth;
  const int blocks = (p.k + kTermDepth - 1) / kTermDepth;
  const std::vector<float> a = split_rows<kType>(p.k, p.a, false), b = split_rows<kType>(p.k, p.b, true);
  return largest_error(p, [&](int row, int col) {
    float sum = 0, of_step = 0;
    for (int block = 0; block < blocks; ++block) {
      const auto slot = [&](const std::vector<float>& x, int line, int which) {
        return std::span(x).subspan((line * blocks + block) * kTermDepth * kTerms + which * kDepth, kDepth);
      };
      for (int i = 0; i < products * kHalves; ++i) {
        const auto of = term_product(kType, products, i);
        of_step = model::dot(slot(a, row, of.a), slot(b, col, of.b), of_step);
      }
      if ((block + 1) % steps != 0 && block + 1 < blocks) continue;
      sum += of_step;
      of_step = 0;
    }
    return sum;
  });
}

/// As gpu/matmul/wgmma_fp16x3 does it where FP16 holds the terms: windows of 64 numbers along k with two sums each.
double fp16_error(const Product& p) {
  constexpr int kWindow = 64, kDepth = 16;
  const int padded = (p.k + kWindow - 1) / kWindow * kWindow;
  const auto factor_of = [](const std::vector<float>& x) {
    float largest = 0;
    for (const float one : x) largest = std::max(largest, std::abs(one));
    return std::ldexp(1.0f, 14 - std::ilogb(largest));
  };
  const float factor_a = factor_of(p.a), factor_b = factor_of(p.b);
  std::vector<float> a[2], b[2];
  for (int term = 0; term < 2; ++term) {
    a[term].resize(kSide * padded), b[term].resize(kSide * padded);
    for (int line = 0; line < kSide; ++line)
      for (int i = 0; i < p.k; ++i) {
        a[term][line * padded + i] = halves(p.a[line * p.k + i] * factor_a)[term];
        b[term][line * padded + i] = halves(p.b_at(i, line) * factor_b)[term];
      }
  }
  return largest_error(p, [&](int row, int col) {
    float sum = 0;
    for (int first = 0; first < padded; first += kWindow) {
      float apart = 0, of_window = 0;
      for (int i = first; i < first + kWindow; i += kDepth) {
        const auto part = [&](const std::vector<float>& x, int line) {
          return std::span(x).subspan(line * padded + i, kDepth);
        };
        apart = model::dot(part(a[1], row), part(b[0], col), apart);
        apart = model::dot(part(a[0], row), part(b[1], col), apart);
        of_window = model::dot(part(a[0], row), part(b[0], col), of_window);
      }
      sum = std::fma(apart, 1 / wgmma::kSecondFp16, sum);
      sum += of_window;
    }
    return sum / factor_a / factor_b;
  });
}

TEST(TensorCoreModel, CutsOffTowardsZero) {
  const std::vector<float> one{1, 0x1p-24f}, minus{-1, -0x1p-24f}, ones{1, 1}, tiny{1, 0x1p-26f}, many(16, 0x1p-24f);
  EXPECT_EQ(model::dot(one, ones, 0), 1.0f) << "1 + 2^-24 to float32";
  EXPECT_EQ(model::dot(minus, ones, 0), -1.0f);
  EXPECT_EQ(model::dot(one, ones, -1), 0x1p-24f) << "within 25 bits of the largest";
  EXPECT_EQ(model::dot(tiny, ones, -1), 0.0f) << "beyond them";
  EXPECT_EQ(model::dot(many, std::vector<float>(16, 1), 1), 1 + 0x1p-20f) << "added before anything is cut off";
  EXPECT_EQ(model::dot(std::vector<float>{0}, ones, 0), 0.0f);
}

class ErrorsOfTerms : public testing::TestWithParam<const char*> {};

TEST_P(ErrorsOfTerms, OfLongSumsAreNoLargerThanThoseOfSgemm) {
  for (const int k : {256, 1000, 4096, 16384}) {
    const Product p(k, GetParam());
    const double sgemm = sgemm_error(p);
    EXPECT_LE(terms_error<Type::tf32>(p, 3), sgemm) << "k = " << k;
    EXPECT_LE(terms_error<Type::bf16>(p, 6), sgemm) << "k = " << k;
    EXPECT_LE(terms_error<Type::bf16>(p, 9), sgemm) << "k = " << k;
  }
}

TEST_P(ErrorsOfTerms, OfShortSumsAreWithinTheBoundOfTheirRecords) {
  for (const int k : {1, 2, 8, 16, 33, 64}) {
    const Product p(k, GetParam());
    const double bound = k + 2;  // gamma, in units of 2^-24
    EXPECT_LE(terms_error<Type::tf32>(p, 3), 4 * bound) << "k = " << k;
    EXPECT_LE(terms_error<Type::bf16>(p, 6), 2 * bound) << "k = " << k;
    EXPECT_LE(terms_error<Type::bf16>(p, 9), 2 * bound) << "k = " << k;
    EXPECT_LE(terms_error<Type::bf16>(p, 9), 4) << "k = " << k << ": two units in the last place at most";
  }
}

/// Of scaled inputs none is multiplied in FP16 (the test of the kernel holds that).
TEST(ErrorsOfFp16, AreNoLargerThanThoseOfSgemm) {
  for (const char* data : {"random", "cancelling"}) {
    SCOPED_TRACE(data);
    for (const int k : {1, 2, 8, 16, 33, 64}) EXPECT_LE(fp16_error(Product(k, data)), 4 * (k + 2)) << "k = " << k;
    for (const int k : {256, 1000, 4096, 16384}) {
      const Product p(k, data);
      EXPECT_LE(fp16_error(p), sgemm_error(p)) << "k = " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, ErrorsOfTerms, testing::Values("random", "scaled", "cancelling"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SumsOfTerms, WouldGrowWithTheSumOnTensorCoresAlone) {
  const Product p(16384, "random");
  EXPECT_GT(terms_error<Type::bf16>(p, 9, p.k), 10 * sgemm_error(p));
  EXPECT_GT(terms_error<Type::tf32>(p, 3, p.k), 10 * sgemm_error(p));
}

}  // namespace
}  // namespace rung
