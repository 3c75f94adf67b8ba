/// The roofs of a run, and which of them its own verified points exceed: a roof that was measured in a busy moment is
/// measured again before anything is reported.
#pragma once

#include <vector>

#include "common/harness/experiment.hpp"
#include "common/harness/journal.hpp"

namespace rung {

/// The median rates of one measured point.
struct MeasuredPoint {
  const Point* point;
  double gflops = 0, gbytes_per_s = 0;  ///< 0: not known
  double clock_mhz = 0;                 ///< likewise
};

/// By how much a rate may exceed its roof.
constexpr double kRoofMargin = 1.05;

/// A point that is faster than its roof.
struct AboveRoof {
  const Point* point;
  double rate = 0, roof = 0;  ///< in GFLOP/s or GB/s
  bool by_memory = false;
  std::vector<const Point*> roofs = {};  ///< all roofs of that kind
};

/// The roofs among `measured` that another point of the same side and number of threads exceeds by more than 1 %: the
/// arithmetic roofs of its type by its GFLOP/s; and, where its operands are too large for the last-level cache of
/// `cached_bytes`, the memory roofs by the bandwidth of its compulsory bytes. All roofs of that kind are returned,
/// since any of them may be the one that was too low.
std::vector<const Point*> exceeded_roofs(const std::vector<MeasuredPoint>& measured, double cached_bytes);

/// The points that exceed their roof by more than noise: by 5 %, in addition to the operands that caches may keep and
/// to a higher clock. Without kernels that do other operations than the definition: they have a bound on errors of
/// their own.
std::vector<AboveRoof> points_above_roofs(const std::vector<MeasuredPoint>& measured, double cached_bytes);

}  // namespace rung
