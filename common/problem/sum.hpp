/// "sum": the sum of an array, whose parts must meet somewhere: blocks cannot wait for each other within a launch.
///
/// Sizes     n: elements, up to 2^30 (so that an index and a step beyond it fit 32 bits).
/// Operand 0 `x`, input: n elements of float32.
/// Operand 1 `ticket`, input: one uint32, zero. A kernel may count with it and must leave it zero for the next call.
/// Operand 2 `sum`, output: one float32.
/// Operand 3 `partials`, output: room for kSumPartials elements of float32; whatever is left there is not judged.
/// Formula   sum = x[0] + … + x[n - 1], in any order.
/// Useful operations: n - 1. Compulsory bytes: each element of x read once, the sum written once.
#pragma once

#include "common/registry.hpp"

namespace rung {

/// Room for one partial sum of each block.
constexpr int kSumPartials = 4096;

}  // namespace rung
