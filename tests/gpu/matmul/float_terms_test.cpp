/// FP32's accuracy from tensor cores, without a GPU: the loss of splitting a float32 into terms, which products of the
/// terms are added and in which order, and the errors of a long sum on tensor cores, which truncate, compared with the
/// errors of a chain of FMAs as in SGEMM.
#include "gpu/matmul/accuracy/float_terms.hpp"

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
#include "gpu/matmul/accuracy/int8_slices.hpp"
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

/// The two FP16 of a scaled number, as the splitting kernel makes them; the second is scaled by 2^12.
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

// --- slices of a number ---------------------------------------------------------------------------------------------

/// A number of a row of an exponent, as the cutting kernel makes it whole.
int whole_of(float x, int exponent) {
  return static_cast<int>(std::nearbyint(std::ldexp(double(x), wgmma::kFractionBits - exponent)));
}

/// The sum of a whole number's slices; checks that each is an INT8 and that the first is not -128.
std::int64_t sum_of_slices(int whole) {
  std::int64_t sum = 0;
  for (int place = 0; place < wgmma::kSlices; ++place) {
    const int slice = wgmma::slice_of(whole, place);
    EXPECT_GE(slice, place == 0 ? -127 : -128) << whole;
    EXPECT_LE(slice, 127) << whole;
    sum = sum * 256 + slice;
  }
  return sum;
}

TEST(Int8Slices, AreAWholeNumberThatMissesTheNumberByHalfOfTheLast) {
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const float x = any_float(i, -149, 127);
    const int exponent = wgmma::exponent_of(bits_of(x)) + static_cast<int>(i % 3) * 10;  // of larger ones in its row
    const int whole = whole_of(x, exponent);
    ASSERT_EQ(sum_of_slices(whole), whole);
    ASSERT_LE(std::abs(std::ldexp(double(whole), exponent - wgmma::kFractionBits) - x), std::ldexp(0.5, exponent - 31));
  }
}

TEST(Int8Slices, OfTheLargestNumbersOfARowLeaveTheFirstOneBelow128) {
  for (float x = 0x1.f8p0f; x < 2; x = std::nextafter(x, 2.0f) + 0x1p-20f)
    for (const float one : {x, -x, 0x1.fffffep0f, -0x1.fffffep0f, std::nextafter(0x1.fcp0f, 0.0f), 0x1.fcp0f}) {
      const int exponent = wgmma::exponent_of(bits_of(one));
      ASSERT_TRUE(exponent == 1 || exponent == 2) << one;
      ASSERT_EQ(sum_of_slices(whole_of(one, exponent)), whole_of(one, exponent)) << one;
    }
  EXPECT_EQ(wgmma::exponent_of(bits_of(1.0f)), 1);
  EXPECT_EQ(wgmma::exponent_of(bits_of(-0.75f)), 0);
}

TEST(Int8Slices, HaveExponentsOfTheirOwnForZerosAndWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {0.0f, -0.0f}) EXPECT_EQ(wgmma::exponent_of(bits_of(x)), wgmma::kNoExponent);
  for (const float x : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_EQ(wgmma::exponent_of(bits_of(x)), wgmma::kNotFinite);
  EXPECT_EQ(wgmma::exponent_of(bits_of(FLT_MAX)), 129);
  for (const float x : {0x1p-149f, 0x1.8p-140f, FLT_MIN - 0x1p-149f}) {  // whole multiples of 2^-149 stay what they are
    const int exponent = wgmma::exponent_of(bits_of(x));
    EXPECT_EQ(std::ldexp(double(whole_of(x, exponent)), exponent - wgmma::kFractionBits), x);
  }
  // A sum of exponents must show whether one of two lines has no result.
  EXPECT_GT(wgmma::kNotFinite + wgmma::kNoExponent, wgmma::kNotFinite / 2);
  EXPECT_LT(2 * 129, wgmma::kNotFinite / 2);
}

TEST(Int8Slices, HaveSumsThatInt32HoldsAtTheLargestSize) {
  EXPECT_THROW(find_problem("matmul").complete({{"n", 1}, {"k", 32769}}), Error) << "k beyond which they may not";
  std::int64_t largest = 0;
  for (int order = 0; order < wgmma::kSlices; ++order) {
    std::int64_t sum = 0;
    for (int place = 0; place <= order; ++place)
      sum += std::int64_t{place == 0 ? 127 : 128} * (place == order ? 127 : 128) * 32768;
    largest = std::max(largest, sum);
  }
  EXPECT_LE(largest, std::numeric_limits<std::int32_t>::max());
  EXPECT_GT(largest * 2, std::numeric_limits<std::int32_t>::max()) << "a fifth slice, or a larger k, would not do";
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

/// Like SGEMM: one FMA after the other.
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

/// Like the rungs: sums of `steps` steps on the tensor cores, then added in float32.
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

/// The exponents of a matrix's lines; change(i) is added to the exponent of the i-th number of each line.
template <typename Number, typename Change>
std::vector<int> exponents(int lines, int length, const Number& number, const Change& change) {
  std::vector<int> found(lines, wgmma::kNoExponent);
  for (int line = 0; line < lines; ++line)
    for (int i = 0; i < length; ++i)
      if (const int exponent = wgmma::exponent_of(bits_of(number(line, i))); exponent != wgmma::kNoExponent)
        found[line] = std::max(found[line], exponent + change(i));
  return found;
}

/// As gpu/matmul/wgmma_int8_slices does it; without `is_balanced`, by rows of A and columns of B alone.
double slices_error(const Product& p, bool is_balanced = true) {
  const auto a = [&](int row, int i) { return p.a[row * p.k + i]; };
  const auto b = [&](int col, int i) { return p.b_at(i, col); };
  const auto none = [](int) { return 0; };
  std::vector<int> of_rows = exponents(kSide, p.k, a, none), of_cols = exponents(kSide, p.k, b, none);
  const auto along = [&](const auto& x, const std::vector<int>& of_lines) {
    return exponents(
        p.k, kSide, [&](int i, int line) { return x(line, i); }, [&](int line) { return -of_lines[line]; });
  };
  const std::vector<int> of_a = along(a, of_rows), of_b = along(b, of_cols);
  const auto power = [&](int i) { return is_balanced ? wgmma::balance(of_a[i], of_b[i]) : 0; };
  of_rows = exponents(kSide, p.k, a, power);
  of_cols = exponents(kSide, p.k, b, [&](int i) { return -power(i); });
  return largest_error(p, [&](int row, int col) {
    std::array<std::int64_t, wgmma::kSlices> sum{};
    for (int i = 0; i < p.k; ++i) {
      const int of_a = whole_of(a(row, i), of_rows[row] - power(i)),
                of_b = whole_of(b(col, i), of_cols[col] + power(i));
      for (int x = 0; x < wgmma::kSlices; ++x)
        for (int y = 0; x + y < wgmma::kSlices; ++y) sum[x + y] += wgmma::slice_of(of_a, x) * wgmma::slice_of(of_b, y);
    }
    float total = 0;
    for (int order = wgmma::kSlices - 1; order >= 0; --order) {
      EXPECT_EQ(sum[order], static_cast<std::int32_t>(sum[order]));
      total = std::fma(total, 0x1p-8f, static_cast<float>(static_cast<std::int32_t>(sum[order])));
    }
    return std::ldexp(total, of_rows[row] + of_cols[col] - 14);
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

TEST_P(ErrorsOfTerms, OfSlicesAreNoLargerThanThoseOfSgemm) {
  for (const int k : {1, 2, 8, 16, 33, 64}) EXPECT_LE(slices_error(Product(k, GetParam())), 4 * (k + 2)) << "k = " << k;
  for (const int k : {256, 1000, 4096, 16384}) {
    const Product p(k, GetParam());
    EXPECT_LE(slices_error(p), sgemm_error(p)) << "k = " << k;
  }
}

/// If rows and columns of both matrices have different scales, numbers of a row are small compared with its largest
/// one.
TEST(Int8Slices, WouldLoseNumbersAlongKWereTheyNotBalanced) {
  for (const int k : {8, 16, 33}) {
    const Product p(k, "scaled");
    EXPECT_GT(slices_error(p, false), 4 * (k + 2)) << "k = " << k;
    EXPECT_LT(slices_error(p), k + 2) << "k = " << k;
  }
}

/// Scaled inputs are not multiplied in FP16 (the test of the kernel checks that).
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
