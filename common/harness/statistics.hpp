/// What sampling stops on, and what its progress shows. Everything else about the samples is the report's business.
#pragma once

#include <span>
#include <vector>

namespace rung {

/// The median; the mean of the middle two for an even count. Throws std::logic_error for no samples.
double median(std::span<const double> samples);

/// Nonparametric 95 % confidence interval of the median, by ranks of the sorted samples: exact binomial ranks below 70
/// samples, Le Boudec's normal approximation from there on. Both ends are NaN for fewer than 6 samples, which cannot
/// give 95 %. Source: Hoefler & Belli, SC15, section 3.1.3.
struct Interval {
  double low = 0, high = 0;
};
Interval median_interval(std::span<const double> samples);

/// The number of independent samples that these are worth, in the order in which they were taken: n (1 - r) / (1 + r),
/// with the correlation r between the ranks of successive samples. report/data/statistics.py has the same.
double effective_samples(std::span<const double> samples);

/// The interval for samples that are correlated: wider, the whole range where they count for fewer than 6. It holds for
/// the median of this run, not of the next one.
Interval interval_within_run(std::span<const double> samples);

}  // namespace rung
