#include "common/harness/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace rung {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

constexpr std::size_t kFewest = 6;
constexpr double kMostCorrelated = 0.9;

/// The largest rank r (from 1) such that the samples of rank r and n + 1 - r enclose the median with 95 %.
std::size_t low_rank(std::size_t n) {
  if (n >= 70) return static_cast<std::size_t>(std::floor((double(n) - 1.96 * std::sqrt(double(n))) / 2));
  double below = 0, term = std::pow(0.5, double(n));  // P(B = i) for B ~ binomial(n, 1/2)
  std::size_t rank = 0;
  for (std::size_t i = 0; i < n; ++i) {
    below += term;
    if (below > 0.025) break;
    rank = i + 1;
    term *= double(n - i) / double(i + 1);
  }
  return rank;
}

constexpr Interval kNone = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};

Interval between_ranks(std::span<const double> samples, std::size_t low) {
  const std::size_t rank = std::max<std::size_t>(low, 1);
  const std::vector<double> all = sorted(samples);
  return {all[rank - 1], all[all.size() - rank]};
}

}  // namespace

double median(std::span<const double> samples) {
  if (samples.empty()) throw std::logic_error("the median of no samples");
  const std::vector<double> all = sorted(samples);
  const std::size_t half = all.size() / 2;
  return all.size() % 2 ? all[half] : (all[half - 1] + all[half]) / 2;
}

Interval median_interval(std::span<const double> samples) {
  return samples.size() < kFewest ? kNone : between_ranks(samples, low_rank(samples.size()));
}

double effective_samples(std::span<const double> samples) {
  const auto n = static_cast<double>(samples.size());
  const std::vector<double> all = sorted(samples);
  std::vector<double> about;  // ranks less their mean; of equal samples the middle one
  for (const double sample : samples) {
    const auto [first, last] = std::equal_range(all.begin(), all.end(), sample);
    about.push_back(double((first - all.begin()) + (last - all.begin()) - 1) / 2 - (n - 1) / 2);
  }
  double spread = 0, together = 0;
  for (std::size_t i = 0; i < about.size(); ++i) {
    spread += about[i] * about[i];
    if (i > 0) together += about[i - 1] * about[i];
  }
  if (spread == 0) return n;
  const double r = std::clamp(together / spread + 1 / n, 0.0, kMostCorrelated);  // few samples understate it by 1/n
  return n * (1 - r) / (1 + r);
}

Interval interval_within_run(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < kFewest) return kNone;
  const auto independent = static_cast<std::size_t>(effective_samples(samples));
  const std::size_t rank = independent < kFewest ? 1 : low_rank(independent) * n / independent;
  return between_ranks(samples, std::min(rank, low_rank(n)));
}

}  // namespace rung
