/// Shared by the parallel kernels: each thread counts its part of the values in private counters, which are added up at
/// the end.
#pragma once

#include <omp.h>

#include <algorithm>

#include "common/problem/histogram.hpp"
#include "common/registry.hpp"

namespace rung {

/// Calls count(counters, values, begin, end) on every thread for its part, with kBins counters that are 0.
template <typename Count>
void count_privately(const Call& call, const Count& count) {
  const auto* values = call.operand<const unsigned char>(0);
  auto* counts = call.operand<std::uint32_t>(1);
  const std::int64_t n = call.params.at("n");
  std::fill_n(counts, kBins, 0u);
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    std::uint32_t own[kBins] = {};
    count(own, values, n * thread / team, n * (thread + 1) / team);
#pragma omp critical
    for (int bin = 0; bin < kBins; ++bin) counts[bin] += own[bin];
  }
}

}  // namespace rung
