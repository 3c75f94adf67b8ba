/// Shared by the kernels of small steps: one step of an element, and the bytes of all steps.
#pragma once

#include "common/problem/launches.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

constexpr int kStepThreads = 256;

inline int steps_of(const Params& p) { return static_cast<int>(p.at("launches")); }
inline int elements_of(const Params& p) { return static_cast<int>(p.at("n")); }

/// Blocks of one step.
inline Launch step_launch(const Params& p) { return Launch{{blocks_for(p.at("n"), kStepThreads)}, {kStepThreads}}; }

/// Every step reads and writes all elements.
inline Traffic traffic_of_steps(const Params& p) {
  const double bytes = 4.0 * p.at("n") * p.at("launches");
  return {.loaded = bytes, .stored = bytes};
}

}  // namespace rung
