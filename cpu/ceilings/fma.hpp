/// What the multiply-add ceilings share: each thread iterates groups of chains that just fill the registers. An FMA has
/// a latency of 4 or 5 cycles and a core starts up to two a cycle, so 10 independent ones keep the units busy.
#pragma once

#include <omp.h>

#include <algorithm>

#include "common/harness/cpu_info.hpp"
#include "common/problem/fma.hpp"

namespace rung {

/// Registers of chains in a group: with the 4 coefficients they fit the 16 that AVX2 has.
constexpr int kFmaRegisters = 10;

/// Iterates one group: y = the two steps in turn, `iterations` in all, on x; see common/problem/fma.hpp.
using FmaGroup = void (*)(const float* x, const float* coefficients, float* y, std::int64_t iterations);

/// Runs all groups of kFmaRegisters x `lanes` chains.
inline void run_fma(const Call& call, int lanes, FmaGroup iterate) {
  const auto *x = call.operand<const float>(0), *coefficients = call.operand<const float>(1);
  auto* y = call.operand<float>(2);
  const std::int64_t chains = call.params.at("chains"), iterations = call.params.at("iterations");
  const std::int64_t group = kFmaRegisters * lanes;
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < chains; first += group) iterate(x + first, coefficients, y + first, iterations);
}

/// One group for each thread, iterated for about a millisecond.
inline Params fma_sizes(int lanes) {
  return {{"chains", std::int64_t{cpu_threads()} * kFmaRegisters * lanes}, {"iterations", std::int64_t{1} << 19}};
}

/// Why these chains are not allowed, or this CPU cannot run the kernel; empty if it can.
inline std::string refuse_fma(const Params& p, int lanes, bool is_supported, const std::string& instructions) {
  if (!is_supported) return "this CPU has no " + instructions + " (it has " + cpu_info().simd + ")";
  const int group = kFmaRegisters * lanes;
  return p.at("chains") % group == 0 ? "" : "chains must be a multiple of " + std::to_string(group);
}

}  // namespace rung
