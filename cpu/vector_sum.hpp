/// The sum of a part of an array with the widest vectors.
#pragma once

#include <cstdint>

#include "cpu/ceilings/vector.hpp"

namespace rung {

/// The sum of x[begin] to x[end - 1], begin a multiple of a vector, in kSums vectors side by side: no addition waits
/// for the previous one.
template <int kSums>
float vector_sum(const float* x, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kWidth = kVectorBytes / sizeof(float), kStep = kSums * kWidth;
  FloatVector sums[kSums] = {};
  std::int64_t i = begin;
  for (; i + kStep <= end; i += kStep)
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s) sums[s] += *reinterpret_cast<const FloatVector*>(x + i + s * kWidth);
  for (int s = 1; s < kSums; ++s) sums[0] += sums[s];
  float sum = 0;
  for (int lane = 0; lane < kWidth; ++lane) sum += sums[0][lane];
  for (; i < end; ++i) sum += x[i];
  return sum;
}

}  // namespace rung
