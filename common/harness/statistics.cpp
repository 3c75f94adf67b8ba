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

}  // namespace

double median(std::span<const double> samples) {
  if (samples.empty()) throw std::logic_error("the median of no samples");
  const std::vector<double> all = sorted(samples);
  const std::size_t half = all.size() / 2;
  return all.size() % 2 ? all[half] : (all[half - 1] + all[half]) / 2;
}

Interval median_interval(std::span<const double> samples) {
  const std::size_t n = samples.size();
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (n < 6) return {none, none};
  const std::size_t rank = std::max<std::size_t>(low_rank(n), 1);
  const std::vector<double> all = sorted(samples);
  return {all[rank - 1], all[n - rank]};
}

}  // namespace rung
