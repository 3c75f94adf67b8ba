/// Kernels whose threads access memory at random places that the host draws. They compare the counting rules of the
/// emulator with a GPU's hardware counters. Compiled like every kernel, with nvcc for the GPU (main.cu) and with g++
/// for the emulator (patterns_test.cpp). count.sh reads the counters of a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/registry.hpp"

namespace rung {

/// One launch of a single block.
struct Pattern {
  std::string name;  ///< "shared_16/3": the kernel, and the number of its pattern
  unsigned threads = 32;
  std::vector<std::int32_t> words;       ///< operand 0: the threads read from it where to access memory
  std::function<void(const Call&)> run;  ///< operands 1 and 2 hold kPatternBytes each, zeros before the launch

  /// "shared_16/3 9f3a12c4": with a hash that changes when the pattern changes.
  std::string identity() const;
};

constexpr std::size_t kPatternBytes = 1 << 20;

/// All patterns; the same ones each time.
std::vector<Pattern> all_patterns();

}  // namespace rung
