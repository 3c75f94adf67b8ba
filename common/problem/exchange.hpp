/// "exchange": neighbours pass their products around, to measure what it costs threads to wait for each other.
///
/// Sizes     n: elements, up to 2^28; rounds: how often each is passed on, up to 2^16 (1 if not given).
/// Operand 0 `x`, operand 1 `y`, inputs: n elements of float32.
/// Operand 2 `z`, output: n elements of float32.
/// Formula   the elements stand in rings of 32 in a row; the last ring has those that are left, from 1 to 32 of them.
///           With p = x y, and p[i; r] the product of the element r further on in i's ring, the last one's next being
///           the first:  z[i] = p[i; 1] + p[i; 2] + … + p[i; rounds].
/// Useful operations: n (1 + rounds).
///
/// A kernel keeps one product a thread, hands it to the neighbour before and gets that of the neighbour behind, once a
/// round: each round needs what the round before has brought, so none can be left out, and what a round lasts is
/// time / rounds. A ring is a warp's width, so that a block's barrier, a warp's barrier and a shuffle all can do it.
/// With Fill::integers every sum is exact: at most 2^16 products of at most 64.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// Elements of a ring, all but the last one.
constexpr int kExchangeRing = 32;

}  // namespace rung
