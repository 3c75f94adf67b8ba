/// The product in TF32, FP8 and INT8: how numbers are rounded, the layout of B, and what the judge passes and fails.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

// --- formats ------------------------------------------------------------------------------------------------------

TEST(Fp8, KeepsEveryNumberThatItHas) {
  std::set<float> values;
  for (int bits = 0; bits < 256; ++bits) {
    const float x = from_fp8(static_cast<Fp8>(bits));
    if (bits % 128 == 127) {
      EXPECT_TRUE(std::isnan(x));
      continue;
    }
    EXPECT_EQ(to_fp8(x), bits) << x;
    values.insert(x);
  }
  EXPECT_EQ(values.size(), 253u) << "254 numbers, two of them zeros";
  EXPECT_EQ(*values.rbegin(), 448);
  EXPECT_EQ(*values.upper_bound(0), 0x1p-9f);
}

TEST(Fp8, RoundsToTheNearestEven) {
  EXPECT_EQ(from_fp8(to_fp8(1.0625f)), 1.0f) << "a tie, down to even";
  EXPECT_EQ(from_fp8(to_fp8(1.1875f)), 1.25f) << "a tie, up to even";
  EXPECT_EQ(from_fp8(to_fp8(-1.07f)), -1.125f);
  EXPECT_EQ(from_fp8(to_fp8(0x1.8p-9f)), 0x1p-8f) << "a tie of subnormal numbers";
  EXPECT_EQ(from_fp8(to_fp8(0x1p-10f)), 0.0f);
  EXPECT_EQ(from_fp8(to_fp8(0x1.fcp-7f)), 0x1p-6f) << "up to the smallest normal number";
  EXPECT_EQ(from_fp8(to_fp8(1e9f)), 448.0f);
  EXPECT_TRUE(std::isnan(from_fp8(to_fp8(NAN))));
  for (int i = -16; i <= 16; ++i) EXPECT_EQ(from_fp8(to_fp8(static_cast<float>(i))), i);
}

TEST(Tf32, KeepsTenBits) {
  EXPECT_EQ(to_tf32(1 + 0x1p-10f), 1 + 0x1p-10f);
  EXPECT_EQ(to_tf32(1 + 0x1p-11f), 1.0f) << "a tie, down to even";
  EXPECT_EQ(to_tf32(1 + 0x1.8p-10f), 1 + 0x1p-9f) << "a tie, up to even";
  EXPECT_EQ(to_tf32(-1 - 0x1.2p-11f), -1 - 0x1p-10f);
  EXPECT_TRUE(std::isnan(to_tf32(NAN)));
}

// --- products -----------------------------------------------------------------------------------------------------

float widened(float x) { return x; }
float widened(Fp8 x) { return from_fp8(x); }
float widened(std::int8_t x) { return x; }

/// A product with its inputs, of B as it is stored, computed by `sum_of(k, term)`, where term(i) is the i-th product.
template <typename Input, typename Output>
struct Case {
  const Problem& problem;
  Params sizes;
  const DataSet& data;
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> host;
  Judge judge;

  Case(Type type, const Params& given, const DataSet& set)
      : problem(find_problem("matmul", type)), sizes(problem.complete(given)), data(set) {
    for (const Operand& operand : problem.operands(sizes)) memory.emplace_back(operand.bytes(), std::byte{kPoisonByte});
    for (auto& bytes : memory) host.push_back(bytes.data());
    problem.fill(sizes, data, 7, host);
    judge = problem.reference(sizes, data, 7, {host.data(), host.size()});
  }

  template <typename SumOf>
  Matmul<Input, Output> compute(const SumOf& sum_of, bool by_columns = true) {
    const auto it = matmul_of<Input, Output>({.params = sizes, .operands = host}, MatmulLayout::nt);
    for (std::int64_t row = 0; row < it.m; ++row)
      for (std::int64_t col = 0; col < it.n; ++col) {
        const auto term = [&](std::int64_t i) {
          const std::int64_t b = by_columns ? col * it.ldb + i : (i * it.n + col) % (it.n * it.ldb);
          return widened(it.a[row * it.lda + i]) * widened(it.b[b]);
        };
        const auto product = it.alpha == 0 ? Output{} : static_cast<Output>(it.alpha * sum_of(it.k, term));
        Output& c = it.c[row * it.ldc + col];
        c = it.beta == 0 ? product : static_cast<Output>(product + it.beta * c);
      }
    return it;
  }
  std::string verdict() const { return judge({host.data(), host.size()}).reason(); }
};

constexpr auto kInDouble = [](int k, const auto& term) {
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += term(i);
  return sum;
};

const std::vector<Params> kShapes{{{"n", 1}},
                                  {{"n", 33}},
                                  {{"m", 1}, {"n", 7}, {"k", 300}},
                                  {{"m", 300}, {"n", 311}, {"k", 17}},
                                  {{"m", 20}, {"n", 31}, {"k", 12}, {"lda", 15}, {"ldb", 13}, {"ldc", 40}},
                                  {{"m", 9}, {"n", 8}, {"k", 65}, {"alpha", -2}, {"beta", 3}, {"shift", 5}},
                                  {{"m", 9}, {"n", 8}, {"k", 65}, {"alpha", 0}, {"beta", 2}}};

template <typename Input, typename Output>
void passes_what_is_right_and_fails_what_is_wrong(Type type) {
  for (const Params& shape : kShapes)
    for (const DataSet& data : find_problem("matmul", type).data) {
      SCOPED_TRACE(std::string(type_name(type)) + " " + shape.text() + " " + data.name);
      Case<Input, Output> right(type, shape, data);
      const auto it = right.compute(kInDouble);
      EXPECT_EQ(right.verdict(), "");
      Output& last = it.c[(it.m - 1) * it.ldc + it.n - 1];
      const Output was = last;
      last = static_cast<Output>(was + 1);
      if (data.is_exact || type == Type::tf32) {
        EXPECT_NE(right.verdict(), "") << "an element is wrong";
      }
      last = was;
      if (it.ldc > it.n) {
        it.c[it.n] = 0;
        EXPECT_NE(right.verdict(), "") << "written between the rows";
      }
    }
}

TEST(MatmulInTf32, PassesWhatIsRight) { passes_what_is_right_and_fails_what_is_wrong<float, float>(Type::tf32); }
TEST(MatmulInFp8, PassesWhatIsRight) { passes_what_is_right_and_fails_what_is_wrong<Fp8, float>(Type::fp8); }
TEST(MatmulInInt8, PassesWhatIsRight) {
  passes_what_is_right_and_fails_what_is_wrong<std::int8_t, std::int32_t>(Type::int8);
}

TEST(MatmulInInt8, HasEveryNumberAndABByColumns) {
  const Problem& problem = find_problem("matmul", Type::int8);
  Case<std::int8_t, std::int32_t> wrong(Type::int8, {{"n", 64}}, problem.timed_data());
  const auto it = wrong.compute(kInDouble, false);
  EXPECT_NE(wrong.verdict(), "") << "B taken by rows";
  EXPECT_EQ(std::set<std::int8_t>(it.a, it.a + 64 * 64).size(), 256u);
  EXPECT_EQ(problem.operands(wrong.sizes)[1].name, "B^T");
  EXPECT_EQ(problem.operands(wrong.sizes)[2].type, Type::int32);
}

TEST(MatmulByColumns, LeadingDimensionsAreThoseOfTheStoredMatrix) {
  const Params shape{{"m", 3}, {"n", 5}, {"k", 7}};
  const auto operands = [](Type type, const Params& sizes) {
    const Problem& problem = find_problem("matmul", type);
    return problem.operands(problem.complete(sizes));
  };
  for (const Type type : {Type::tf32, Type::fp8, Type::int8}) {
    EXPECT_EQ(operands(type, shape)[1].elements, 35u);
    EXPECT_EQ(operands(type, {{"m", 3}, {"n", 5}, {"k", 7}, {"ldb", 9}})[1].elements, 4u * 9 + 7);
    EXPECT_THROW(operands(type, {{"m", 3}, {"n", 5}, {"k", 7}, {"ldb", 6}}), Error);
  }
}

/// Sums as tensor cores of compute capability 9.0 make them in FP8: the terms of 32 and the sum so far are cut off
/// below 2^-13 of the largest of them. After each `of` terms, this sum is added to another one in float32.
auto with_few_bits(int of) {
  return [of](int k, const auto& term) {
    float total = 0;
    for (int first = 0; first < k; first += of) {
      double sum = 0;
      for (int at = first; at < std::min(k, first + of); at += 32) {
        double largest = std::abs(sum), cut = 0;
        const int end = std::min({k, first + of, at + 32});
        for (int i = at; i < end; ++i) largest = std::max(largest, double(std::abs(term(i))));
        const double unit = largest > 0 ? std::ldexp(1, std::ilogb(largest) - 13) : 1;
        for (int i = at; i < end; ++i) cut += std::trunc(term(i) / unit) * unit;
        sum = cut + std::trunc(sum / unit) * unit;
      }
      total += static_cast<float>(sum);
    }
    return total;
  };
}

TEST(MatmulInFp8, SumsOf128TermsMayKeepFewBits) {
  for (const Params& shape : std::vector<Params>{{{"m", 40}, {"n", 33}, {"k", 8192}}, {{"n", 130}}, {{"n", 20}}})
    for (const DataSet& data : find_problem("matmul", Type::fp8).data) {
      Case<Fp8, float> promoted(Type::fp8, shape, data);
      promoted.compute(with_few_bits(128));
      EXPECT_EQ(promoted.verdict(), "") << shape.text() << " " << data.name;
    }
}

TEST(MatmulInFp8, SumsOfAllTermsMayNot) {
  Case<Fp8, float> fast(Type::fp8, {{"m", 40}, {"n", 33}, {"k", 8192}}, random_reals());
  fast.compute(with_few_bits(8192));
  EXPECT_NE(fast.verdict(), "");
}

TEST(MatmulInTf32, FailsInputsOfFewerBits) {
  Case<float, float> wrong(Type::tf32, {{"n", 100}}, random_reals());
  for (int operand = 0; operand < 2; ++operand) {
    auto* x = static_cast<float*>(wrong.host[operand]);
    for (int i = 0; i < 100 * 100; ++i) x[i] = from_bf16(to_bf16(x[i]));
  }
  wrong.compute(kInDouble);
  EXPECT_NE(wrong.verdict(), "");
}

}  // namespace
}  // namespace rung
