/// The problems "prefix_sum" and "histogram": right results pass, and almost right ones do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "common/harness/workload.hpp"

namespace rung {
namespace {

constexpr std::uint64_t kSeed = 5;

class PrefixSum : public testing::TestWithParam<DataSet> {
 protected:
  bool passes(const std::vector<float>& y) const {
    const void* const host[] = {inputs.input(0), y.data()};
    return inputs.judge(host).passed();
  }
  /// By the definition, with the sum in T.
  template <typename T>
  std::vector<float> scanned() const {
    const auto* x = static_cast<const float*>(inputs.input(0));
    std::vector<float> y(static_cast<std::size_t>(n));
    T sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(sum += x[i]);
    return y;
  }
  const std::int64_t n = 100003;
  const Problem& problem = find_problem("prefix_sum");
  const HostInputs inputs{problem, {{"n", n}}, GetParam(), kSeed};
};

TEST_P(PrefixSum, PassesInTheOrderOfTheDefinition) {
  EXPECT_TRUE(passes(scanned<float>()));
  EXPECT_TRUE(passes(scanned<double>()));
}

TEST_P(PrefixSum, AnElementLeftOutFails) {
  const std::vector<float> right = scanned<double>();
  const auto* x = static_cast<const float*>(inputs.input(0));
  for (const std::size_t left_out : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{4097}}) {
    if (x[left_out] == 0) continue;
    std::vector<float> y = right;
    for (std::size_t i = left_out; i < y.size(); ++i) y[i] -= x[left_out];
    EXPECT_FALSE(passes(y)) << left_out;
  }
}

TEST_P(PrefixSum, ThePlaceBeforeOrNothingAtAllFails) {
  std::vector<float> exclusive = scanned<double>();
  exclusive.insert(exclusive.begin(), 0);
  exclusive.pop_back();
  EXPECT_FALSE(passes(exclusive));
  std::vector<float> unwritten = scanned<double>();
  unwritten.back() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(passes(unwritten));
}

INSTANTIATE_TEST_SUITE_P(Data, PrefixSum, testing::Values(integers(), random_reals()),
                         [](const auto& info) { return info.param.name; });

class Histogram : public testing::Test {
 protected:
  /// The counts of the values in operand 0.
  static std::vector<std::uint32_t> counted(const HostInputs& inputs, std::int64_t n) {
    const auto* values = static_cast<const unsigned char*>(inputs.input(0));
    std::vector<std::uint32_t> counts(256);
    for (std::int64_t i = 0; i < n; ++i) ++counts[values[i]];
    return counts;
  }
  static bool passes(const HostInputs& inputs, const std::vector<std::uint32_t>& counts) {
    const void* const host[] = {inputs.input(0), counts.data()};
    return inputs.judge(host).passed();
  }
  const Problem& problem = find_problem("histogram", Type::int8);
};

TEST_F(Histogram, OneCountTooManyOrInThePlaceNextToItFails) {
  for (const DataSet& data : problem.data) {
    const HostInputs inputs(problem, problem.complete({{"n", 5001}, {"percent", 30}}), data, kSeed);
    const std::vector<std::uint32_t> right = counted(inputs, 5001);
    EXPECT_TRUE(passes(inputs, right)) << data.name;
    std::vector<std::uint32_t> wrong = right;
    ++wrong[17];
    EXPECT_FALSE(passes(inputs, wrong)) << data.name;
    wrong = right;
    --wrong[101];
    ++wrong[102];
    EXPECT_FALSE(passes(inputs, wrong)) << data.name;
  }
}

TEST_F(Histogram, TheShareOfOneValueIsTheOneAskedFor) {
  for (const std::int64_t percent : {0, 50, 100}) {
    constexpr std::int64_t n = 100000;
    const HostInputs inputs(problem, problem.complete({{"n", n}, {"percent", percent}}), problem.data_set("uniform"),
                            kSeed);
    const std::vector<std::uint32_t> counts = counted(inputs, n);
    const double most = *std::max_element(counts.begin(), counts.end());
    EXPECT_NEAR(most / n, percent == 0 ? 1 / 256.0 : percent / 100.0, 0.01) << percent;
  }
  EXPECT_THROW(problem.complete({{"n", 1}, {"percent", 101}}), Error);
}

}  // namespace
}  // namespace rung
