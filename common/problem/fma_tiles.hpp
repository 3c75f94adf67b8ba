/// "fma" in TF32, bfloat16, FP8 and INT8: independent chains of small matrix products, summed in float32 (INT8: in
/// int32) in the tile registers of a CPU's or the registers of a GPU's matrix unit, to measure its peak rate. One step
/// is a tile of 16 rows times one of 16 columns, 64 bytes deep: 32 in bfloat16.
///
/// Sizes     chains: how many 16 x 16 tiles of sums are iterated, any count (a kernel may refuse one that is no
///           multiple of its group); iterations: products added to each, a multiple of 2, <= 2^16.
/// Operand 0 `x`, input: chains x 256 elements of float32 or int32, a row-major tile for each chain.
/// Operand 1 `a`, input: 16 x depth numbers, row-major, in the format of the type (narrow_float.hpp).
/// Operand 2 `b`, input: two matrices b0 and b1 of depth x 16 numbers, row-major.
/// Operand 3 `y`, output: as `x`.
/// Formula   the two steps in turn, `iterations` in all, on every tile, then y = x:
///               x = x + a b0;   x = x + a b1;
/// Useful operations: 2 x 16 x 16 x depth for each chain and iteration.
///
/// Why two steps: one alone would let the sums grow without bound. b1 = -b0 takes back what b0 added. With
/// exact inputs (whole numbers from -2 to 2), b1 has one more 1 in each column, so each pair of steps adds an element
/// of `a`, exactly: every step is accounted for. (In FP8 that holds for sums up to 2^13, the bits that the unit keeps:
/// 4096 steps.)
#pragma once

#include <cstdint>

#include "common/host_device.hpp"
#include "common/problem/matmul.hpp"

namespace rung {

/// The rows and columns of a tile of sums.
constexpr int kTileRows = 16, kTileCols = 16;
constexpr int kTileSums = kTileRows * kTileCols;

/// The length of a tile's dot products: 64 bytes.
RUNG_ANYWHERE constexpr int tile_depth(Type type) {
  return type == Type::tf32 ? 16 : type == Type::fp8 || type == Type::int8 ? 64 : 32;
}
constexpr int kTileDepth = tile_depth(Type::bf16);

}  // namespace rung
