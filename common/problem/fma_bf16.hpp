/// "fma" in bfloat16: independent chains of small matrix products in bfloat16, summed in float32 in the tile registers
/// of a CPU's matrix unit, to measure its peak rate. One step is a 16 x 32 tile times a 32 x 16 tile.
///
/// Sizes     chains: how many 16 x 16 tiles of sums are iterated, any count (a kernel may refuse one that is no
///           multiple of its group); iterations: products added to each, a multiple of 2, <= 2^16.
/// Operand 0 `x`, input: chains x 256 elements of float32, a row-major tile for each chain.
/// Operand 1 `a`, input: 16 x 32 elements of bfloat16 (the upper half of a float32's bits), row-major.
/// Operand 2 `b`, input: two matrices b0 and b1 of 32 x 16 elements of bfloat16, row-major.
/// Operand 3 `y`, output: as `x`.
/// Formula   the two steps in turn, `iterations` in all, on every tile, then y = x:
///               x = x + a b0;   x = x + a b1;
/// Useful operations: 2 x 16 x 16 x 32 for each chain and iteration.
///
/// Why two steps: one alone would let the sums grow without bound. b1 = -b0 takes back what b0 added. With
/// Fill::integers, b1 has one more 1 in each column, so each pair of steps adds an element of `a`, exactly: every step
/// is accounted for.
#pragma once

#include <cstdint>

#include "common/problem/matmul.hpp"

namespace rung {

/// The rows and columns of a tile of sums, and the length of a tile's dot products.
constexpr int kTileRows = 16, kTileCols = 16, kTileDepth = 32;
constexpr int kTileSums = kTileRows * kTileCols;

inline double fma_bf16_flops(const Params& p) {
  return 2.0 * kTileSums * kTileDepth * p.at("chains") * p.at("iterations");
}

}  // namespace rung
