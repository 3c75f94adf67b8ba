/// "exchange": neighbours pass their products around, to measure what it costs threads to wait for each other.
///
/// Sizes     n: elements, up to 2^28; rounds: how often each is passed on, up to 2^16 (1 if not given).
/// Operand 0 `x`, operand 1 `y`, inputs: n elements of float32.
/// Operand 2 `z`, output: n elements of float32.
/// Formula   the elements form rings of 32 consecutive ones; the last ring has the remaining 1 to 32.
///           With p = x y, and p[i; r] the product of the element r places after i in its ring, where the first
///           follows the last:  z[i] = p[i; 1] + p[i; 2] + … + p[i; rounds].
/// Useful operations: n (1 + rounds).
///
/// A kernel keeps one product per thread, hands it to the previous neighbour and receives the next neighbour's, once
/// per round. Each round needs the products of the round before, so none can be left out, and a round lasts time /
/// rounds. A ring has a warp's width, so that a block's barrier, a warp's barrier and a shuffle all can do it. With
/// Fill::integers every sum is exact: at most 2^16 products of at most 64.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// Elements of a ring, all but the last one.
constexpr int kExchangeRing = 32;

}  // namespace rung
