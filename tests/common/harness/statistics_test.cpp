#include "common/harness/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/harness/measure.hpp"

namespace rung {
namespace {

TEST(Median, OfOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_THROW(median(std::vector<double>{}), std::logic_error);
}

TEST(MedianInterval, HasTheBinomialRanks) {
  std::vector<double> samples;
  for (int i = 1; i <= 5; ++i) samples.push_back(i);
  EXPECT_TRUE(std::isnan(median_interval(samples).low)) << "five samples cannot give 95 %";
  samples.push_back(6);
  EXPECT_EQ(median_interval(samples).low, 1);
  EXPECT_EQ(median_interval(samples).high, 6);
  for (int i = 7; i <= 10; ++i) samples.push_back(i);
  EXPECT_EQ(median_interval(samples).low, 2);
  EXPECT_EQ(median_interval(samples).high, 9);
}

/// How often the interval holds the true median, for `draw`'s distribution.
template <typename Draw>
double coverage(int n, double true_median, Draw draw) {
  std::mt19937_64 random(n);
  int covered = 0;
  constexpr int sets = 10000;
  for (int set = 0; set < sets; ++set) {
    std::vector<double> samples;
    for (int i = 0; i < n; ++i) samples.push_back(draw(random));
    const Interval interval = median_interval(samples);
    covered += interval.low <= true_median && true_median <= interval.high;
  }
  return double(covered) / sets;
}

TEST(MedianInterval, CoversTheMedianOfSkewedAndBimodalSamples) {
  const auto skewed = [](auto& random) { return std::exponential_distribution<double>(1)(random); };
  const auto bimodal = [](auto& random) {
    return std::normal_distribution<double>(random() % 5 < 2 ? 1 : 2, 0.1)(random);
  };
  // The bimodal median: 0.4 below, then the sixth of the upper mode: 2 + 0.1 * quantile(1/6).
  const double bimodal_median = 2 - 0.1 * 0.9674215661;
  for (const int n : {6, 10, 25, 100}) {
    EXPECT_GE(coverage(n, std::log(2.0), skewed), 0.945) << n;
    EXPECT_GE(coverage(n, bimodal_median, bimodal), 0.945) << n;
  }
}

TEST(EffectiveSamples, AreFewerWhereSamplesDependOnTheOneBefore) {
  EXPECT_EQ(effective_samples(std::vector<double>(12, 1.0)), 12);
  std::vector<double> rising, alternating;
  for (int i = 0; i < 12; ++i) {
    rising.push_back(i);
    alternating.push_back(i % 2);
  }
  EXPECT_LT(effective_samples(rising), 4);
  EXPECT_EQ(effective_samples(alternating), 12);
  const std::vector<double> some{2, 1, 3, 4, 5, 6, 4, 7, 2, 8};
  EXPECT_NEAR(effective_samples(some), 8.181818181818182, 1e-9);
}

TEST(IntervalWithinRun, IsWiderForCorrelatedSamplesAndCovers) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 1);
  for (const double correlation : {0.0, 0.5}) {
    int covered = 0, covered_by_ranks = 0;
    constexpr int kSets = 2000;
    for (int set = 0; set < kSets; ++set) {
      std::vector<double> samples{normal(random)};
      while (samples.size() < 21)
        samples.push_back(correlation * samples.back() + std::sqrt(1 - correlation * correlation) * normal(random));
      const Interval wide = interval_within_run(samples), ranks = median_interval(samples);
      EXPECT_LE(wide.low, ranks.low);
      EXPECT_GE(wide.high, ranks.high);
      covered += wide.low <= 0 && 0 <= wide.high;
      covered_by_ranks += ranks.low <= 0 && 0 <= ranks.high;
    }
    EXPECT_GE(covered, 0.94 * kSets) << correlation;
    if (correlation > 0) {
      EXPECT_LT(covered_by_ranks, 0.9 * kSets);
    }
  }
}

TEST(StopRule, StopsForEachOfItsReasons) {
  const Effort effort{.min_samples = 10, .max_samples = 20, .seconds = 5};
  std::vector<double> calm(10, 1.0), wild;
  for (int i = 0; i < 20; ++i) wild.push_back(i % 2 ? 1.0 : 2.0);
  EXPECT_EQ(stop_reason({1, 1, 1}, 3, 100, effort), "") << "too few samples, whatever the time";
  EXPECT_EQ(stop_reason(calm, 10, 0.1, effort), "converged");
  EXPECT_EQ(stop_reason(wild, 20, 0.1, effort), "noise stable above target");
  wild.resize(12);
  EXPECT_EQ(stop_reason(wild, 12, 0.1, effort), "");
  EXPECT_EQ(stop_reason(wild, 12, 5.1, effort), "wall budget");
}

TEST(StopRule, TakesDisturbedSamplesAgainWithinTheBudget) {
  const Effort effort{.min_samples = 10, .max_samples = 20, .seconds = 5};
  const std::vector<double> few(9, 1.0), enough(10, 1.0);
  EXPECT_EQ(stop_reason(few, 19, 100, effort), "") << "twice the least, however long that takes";
  EXPECT_EQ(stop_reason(few, 20, 4.9, effort), "");
  EXPECT_EQ(stop_reason(few, 20, 5.1, effort), "disturbed");
  EXPECT_EQ(stop_reason(few, 40, 0.1, effort), "disturbed");
  EXPECT_EQ(stop_reason({}, 40, 0.1, effort), "disturbed");
  EXPECT_EQ(stop_reason(enough, 40, 0.1, effort), "converged");
}

}  // namespace
}  // namespace rung
