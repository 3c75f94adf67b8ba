/// A GPU kernel executed on the emulator: what it did, and whether its result is right.
#pragma once

#include "common/emulator/emulator.hpp"
#include "common/harness/experiment.hpp"

namespace rung {

struct CountedRun {
  Counts counts;
  Check check;  ///< the verdict on the result
};

/// Bytes of the host's memory that counting the point takes.
std::size_t count_bytes(const Point& point, const EmulatorOptions& options = {});

/// Runs the point's kernel once on the emulator, on its data set with the options' seed, over poisoned outputs between
/// guard bands, and judges the result. Throws Error if the kernel refuses the case, cannot be emulated or does not fit
/// into memory, WrongResult if it fails while it runs.
CountedRun count(const Point& point, const EmulatorOptions& options = {});

}  // namespace rung
