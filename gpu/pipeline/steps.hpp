/// The arithmetic of the pipeline: one thread per element. In an unnamed namespace, so that each of the three builds of
/// a kernel's file has its own copy.
#pragma once

#include "common/problem/fma.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kStepThreads = 256;

/// A full multiprocessor has 16 warps per scheduler, and 4 cover the latency of a multiply-add: one chain per thread
/// keeps the units busy.
__global__ void take_steps(const mem<float>* x, const mem<float>* coefficients, mem<float>* y, std::int64_t n,
                           int steps) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kStepThreads + threadIdx.x;
  if (i >= n) return;
  const reg<float> a0 = coefficients[0], b0 = coefficients[1], a1 = coefficients[2], b1 = coefficients[3];
  reg<float> value = x[i];
  for (int done = 0; done < steps; done += kFmaGranule)
    for (int step = 0; step < kFmaGranule; step += 2) {
      value = value * a0 + b0;
      value = value * a1 + b1;
    }
  y[i] = value;
}

inline Launch launch_of(std::int64_t elements) { return {{blocks_for(elements, kStepThreads)}, {kStepThreads}}; }

/// Per thread one element and four coefficients, which the L1 cache serves.
inline Traffic steps_traffic(const Params& p) {
  const auto n = static_cast<double>(p.at("n"));
  return {.loaded = 20 * n, .stored = 4 * n};
}

}  // namespace
}  // namespace rung
