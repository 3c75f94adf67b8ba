/// "launches": steps that depend on each other, each so small that starting it dominates its cost.
///
/// Sizes     n: elements, up to 2^24; launches: steps, up to kMostLaunches.
/// Operand 0 `x`, input: n of uint32. Operand 1 `y`, output: n of uint32.
/// Formula   y[i] = scrambled_word applied to x[i] `launches` times; a kernel makes one step for all elements before
///           the next, whether the host or the device starts it.
/// No floating-point operations. Compulsory bytes: 8 n.
#pragma once

#include "common/problem/scrambled_word.hpp"

namespace rung {

/// Fewer than the launches that may be pending on the device by CUDA's default (2048).
constexpr int kMostLaunches = 1024;

}  // namespace rung
