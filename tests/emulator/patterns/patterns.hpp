/// Kernels whose threads access memory where the host's random numbers say: the rules by which the emulator counts are
/// held to a GPU's hardware counters by them. Compiled like every kernel, with nvcc for the GPU (main.cu) and with g++
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
  std::string name;  ///< "shared_16/3": the kernel, and which of its patterns
  unsigned threads = 32;
  std::vector<std::int32_t> words;       ///< operand 0: what the threads read to know where they access memory
  std::function<void(const Call&)> run;  ///< operands 1 and 2 hold kPatternBytes each, zeros before the launch

  /// "shared_16/3 9f3a12c4": with what tells whether it is still the same pattern.
  std::string identity() const;
};

constexpr std::size_t kPatternBytes = 1 << 20;

/// All patterns; the same ones each time.
std::vector<Pattern> all_patterns();

}  // namespace rung
