/// The judges of the mathematical functions: right results pass, and each kind of error, also a hidden one, fails.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/problem/math.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

Value word(MathFunction f) { return math_function_words()[static_cast<std::size_t>(f)]; }

// ---- Speed ----

/// Totals of a function that is evaluated `passes` times instead of the requested `asked` times.
template <MathFunction kAsked, MathFunction kDone = kAsked>
struct Totals {
  const Problem& problem = find_problem("math", Type::fp32);
  Params sizes;
  std::vector<float> x, y, total;
  Judge judge;

  Totals(std::int64_t asked, std::int64_t passes, const std::string& set = "random")
      : sizes(problem.complete({{"function", word(kAsked)}, {"n", 500}, {"passes", asked}})),
        x(500),
        y(500),
        total(500) {
    void* host[] = {x.data(), y.data(), nullptr};
    problem.fill(sizes, problem.data_set(set), 7, host);
    const void* inputs[] = {x.data(), y.data(), nullptr};
    judge = problem.reference(sizes, problem.data_set(set), 7, inputs);
    for (std::size_t i = 0; i < total.size(); ++i) {
      float at = x[i], with = y[i];
      for (std::int64_t pass = 0; pass < passes; ++pass, at *= kMathNudge, with *= kMathNudge)
        total[i] += static_cast<float>(exact<kDone>(at, with));
    }
  }
  Check check() const {
    const void* host[] = {x.data(), y.data(), total.data()};
    return judge(host);
  }
};

TEST(MathOracle, PassesWhatIsRight) {
  for (const char* set : {"random", "large", "subnormal"}) {
    EXPECT_EQ((Totals<MathFunction::exp>(1, 1, set).check().reason()), "") << set;
    EXPECT_EQ((Totals<MathFunction::sin>(100, 100, set).check().reason()), "") << set;
    EXPECT_EQ((Totals<MathFunction::pow>(100, 100, set).check().reason()), "") << set;
    EXPECT_EQ((Totals<MathFunction::divide>(3, 3, set).check().reason()), "") << set;
  }
}

template <MathFunction... kFunction>
void expect_finite_totals(std::integer_sequence<MathFunction, kFunction...>) {
  (
      [] {
        const Totals<kFunction> totals(1024, 1024, "large");
        for (std::size_t i = 0; i < totals.total.size(); ++i)
          ASSERT_TRUE(std::isfinite(totals.total[i])) << kMathFunctions[int(kFunction)] << " of " << totals.x[i];
      }(),
      ...);
}

TEST(MathOracle, LargeArgumentsAreAddedUpWithoutOverflow) {
  using enum MathFunction;
  expect_finite_totals(
      std::integer_sequence<MathFunction, exp, exp2, log, sin, cos, tan, pow, rsqrt, reciprocal, divide>{});
}

TEST(MathOracle, TellsTheUlpsOfOnePass) {
  Totals<MathFunction::log> right(1, 1);
  EXPECT_LE(right.check().judged.at("max_ulp"), 0.5001);
  right.total[77] = std::nextafter(std::nextafter(right.total[77], 100.0f), 100.0f);
  EXPECT_GE(right.check().judged.at("max_ulp"), 1.5);
  EXPECT_TRUE((Totals<MathFunction::log>(2, 2).check().judged.empty()));
}

TEST(MathOracle, FailsAnotherFunctionOrNumberOfPasses) {
  EXPECT_FALSE((Totals<MathFunction::sin, MathFunction::cos>(1, 1).check().passed()));
  EXPECT_FALSE((Totals<MathFunction::exp, MathFunction::exp2>(8, 8).check().passed()));
  EXPECT_FALSE((Totals<MathFunction::exp>(100, 99).check().passed()));
  EXPECT_FALSE((Totals<MathFunction::none>(100, 99).check().passed()));
}

TEST(MathOracle, FailsWhatWasNotWrittenEvenWhereNothingIsPromised) {
  for (const char* set : {"random", "large", "subnormal"}) {
    Totals<MathFunction::sin> wrong(1, 1, set);
    std::memset(&wrong.total[499], kPoisonByte, sizeof(float));
    EXPECT_FALSE(wrong.check().passed()) << set;
  }
}

// ---- Errors ----

/// A kernel's report on `kFunction`, rounded correctly; change(x, result) returns the value that it has instead.
template <MathFunction kFunction>
struct Reported {
  const Problem& problem = find_problem("math_error", Type::fp32);
  Params sizes;
  std::int64_t rows;
  std::vector<float> worst;
  std::vector<double> bound;
  std::vector<std::uint32_t> counts;

  template <typename Change>
  Reported(std::int64_t n, const Change& change)
      : sizes(problem.complete({{"function", word(kFunction)}, {"n", n}})), rows(math_error_rows(sizes)) {
    worst.resize(static_cast<std::size_t>(rows * kMathWorst * 3));
    bound.resize(static_cast<std::size_t>(rows));
    counts.resize(static_cast<std::size_t>(rows * kMathCounts));
    const int log_n = std::countr_zero(static_cast<std::uint64_t>(n));
    for (std::int64_t row = 0; row < rows; ++row) {
      MathErrors errors;
      for (std::int64_t i = row * (n / rows); i < (row + 1) * (n / rows); ++i) {
        const auto [x, y] = math_arguments<kFunction>(static_cast<std::uint64_t>(i), log_n);
        const double want = clipped(exact<kFunction>(x, y));
        errors.add(x, y, change(x, static_cast<float>(exact<kFunction>(x, y))), want, (1 + kRounded) * ulp(want));
      }
      store(errors, static_cast<std::size_t>(row));
    }
  }
  explicit Reported(std::int64_t n) : Reported(n, [](float, float result) { return result; }) {}

  void store(const MathErrors& errors, std::size_t row) {
    const auto stride = static_cast<std::size_t>(rows);
    for (std::size_t kind = 0; kind < kMathWorst; ++kind) {
      worst[(kind * 3 + 0) * stride + row] = errors.worst[kind].x;
      worst[(kind * 3 + 1) * stride + row] = errors.worst[kind].y;
      worst[(kind * 3 + 2) * stride + row] = errors.worst[kind].result;
    }
    bound[row] = errors.bound;
    for (std::size_t count = 0; count < kMathCounts; ++count) counts[count * stride + row] = errors.counts[count];
  }
  Check check() const {
    const DataSet& data = problem.timed_data();
    const void* host[] = {worst.data(), bound.data(), counts.data()};
    return problem.reference(sizes, data, 7, {})(host);
  }
};

TEST(MathErrorOracle, PassesCorrectRounding) {
  for (const std::int64_t n : {1, 64, 4096, 65536}) {
    EXPECT_EQ(Reported<MathFunction::exp>(n).check().reason(), "") << n;
    EXPECT_EQ(Reported<MathFunction::log>(n).check().reason(), "") << n;
    EXPECT_EQ(Reported<MathFunction::pow>(n).check().reason(), "") << n;
    EXPECT_EQ(Reported<MathFunction::divide>(n).check().reason(), "") << n;
  }
  const Check check = Reported<MathFunction::sin>(65536).check();
  EXPECT_LE(check.judged.at("max_ulp"), 0.5001);
  EXPECT_EQ(check.judged.at("share_not_rounded"), 0);
  EXPECT_EQ(check.judged.at("special_mismatches"), 0);
}

TEST(MathErrorOracle, FindsOneWrongResultAmongMany) {
  const auto wrong_at = [](float place, float by) {
    return Reported<MathFunction::exp>(
               65536,
               [=](float x, float result) {
                 return std::bit_cast<std::uint32_t>(x) >> 16 == std::bit_cast<std::uint32_t>(place) >> 16 ? result * by
                                                                                                           : result;
               })
        .check();
  };
  EXPECT_TRUE(wrong_at(1.5f, 1).passed());
  const Check off = wrong_at(1.5f, 1 + 0x1p-20f);
  EXPECT_FALSE(off.passed());
  EXPECT_GT(off.max_error_ratio, 1);
  EXPECT_FALSE(wrong_at(-40.0f, 1 - 0x1p-20f).passed());
  EXPECT_FALSE(wrong_at(1.5f, std::numeric_limits<float>::quiet_NaN()).passed()) << "NaN instead of a number";
}

TEST(MathErrorOracle, FailsAReportThatIsNoReport) {
  const auto broken = [](const auto& change) {
    Reported<MathFunction::exp> report(4096);
    change(report);
    return report.check().passed();
  };
  EXPECT_TRUE(broken([](auto&) {}));
  EXPECT_FALSE(broken([](auto& r) { std::memset(r.worst.data(), kPoisonByte, 4 * r.worst.size()); })) << "not written";
  EXPECT_FALSE(broken([](auto& r) { std::memset(r.bound.data(), kPoisonByte, 8 * r.bound.size()); })) << "not written";
  EXPECT_FALSE(broken([](auto& r) { std::memset(r.counts.data(), kPoisonByte, 4 * r.counts.size()); }))
      << "not written";
  EXPECT_FALSE(broken([](auto& r) { r.counts.assign(r.counts.size(), 0); })) << "nothing evaluated";
  EXPECT_FALSE(broken([](auto& r) { --r.counts[5]; })) << "one argument left out";
  EXPECT_FALSE(broken([](auto& r) { std::swap(r.worst[2], r.worst[3]); })) << "another row's argument";
  EXPECT_FALSE(broken([](auto& r) { r.bound[3] = kNoBound; })) << "no bound";
  EXPECT_FALSE(broken([](auto& r) { r.bound[3] = 0; })) << "a bound of nothing";
}

TEST(MathErrorOracle, TakesPowersOfTwoOnly) {
  const Problem& problem = find_problem("math_error", Type::fp32);
  EXPECT_THROW(problem.complete({{"function", word(MathFunction::exp)}, {"n", 1000}}), Error);
  EXPECT_THROW(problem.complete({{"function", word(MathFunction::exp)}, {"n", std::int64_t{1} << 33}}), Error);
  EXPECT_THROW(problem.complete({{"n", 1024}}), Error);
}

/// Every bit pattern once, and each stratum of fewer ones.
TEST(MathArguments, CoverTheFloats) {
  for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{0x3F800000}, std::uint64_t{0xFFFFFFFF}}) {
    const float x = math_arguments<MathFunction::exp>(i, 32).x;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(x), i);
  }
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const float x = math_arguments<MathFunction::exp>(i, 12).x;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(x) >> 20, i);
  }
}

}  // namespace
}  // namespace rung
