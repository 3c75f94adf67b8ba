/// "launches": steps that depend on each other, each so small that starting it is most of what it costs.
///
/// Sizes     n: elements, up to 2^24; launches: steps, up to kMostLaunches.
/// Operand 0 `x`, input: n of uint32. Operand 1 `y`, output: as many.
/// Formula   y[i] = scrambled_word applied to x[i] so many times; a kernel makes one step for all elements before the
///           next, whoever starts it.
/// No floating-point operations. Compulsory bytes: 8 n.
#pragma once

#include "common/problem/scrambled_word.hpp"

namespace rung {

/// Fewer than the launches that CUDA lets wait on the device unless told otherwise (2048).
constexpr int kMostLaunches = 1024;

}  // namespace rung
