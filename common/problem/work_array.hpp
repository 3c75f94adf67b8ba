/// "work_array": every item needs an array of its own for some time. It is filled, then walked through in an order that
/// its own values determine, so that neither registers nor a formula can replace it. The kernels differ in where the
/// array comes from. This file has the work itself, one definition for the CPU and the GPU.
///
/// Sizes     n: items, up to 2^24; length: words of each array, up to kMostWords.
/// Operand 0 `start`, input: n of uint32. Operand 1 `sum`, output: n of uint32.
/// Formula   words[j] = scrambled_word(start + j) for j < length. The walk begins at the first word; after word w it
///           continues at index w * length / 2^32. sum = the sum of the walk's `length` words, modulo 2^32.
/// No floating-point operations. Compulsory bytes: 8 n; the arrays are no result.
#pragma once

#include <cstdint>

#include "common/problem/scrambled_word.hpp"

namespace rung {

constexpr int kMostWords = 256;

/// Fills the array and walks through it. `words[j]` may be a reference to any memory.
template <typename Array>
RUNG_ANYWHERE std::uint32_t walk_through(const Array& words, std::uint32_t start, int length) {
  for (int j = 0; j < length; ++j) words[j] = scrambled_word(start + static_cast<std::uint32_t>(j));
  std::uint32_t sum = 0;
  int at = 0;
  for (int step = 0; step < length; ++step) {
    const std::uint32_t word = words[at];
    sum += word;
    at = static_cast<int>(std::uint64_t{word} * static_cast<std::uint32_t>(length) >> 32);
  }
  return sum;
}

}  // namespace rung
