/// The tiled matrix product on paper: what a square tile takes of a block and an SM, and what it saves of memory
/// traffic. PMPP 4e §5.4 and §5.6; Zhou 2015, Matrix Multiply.
#pragma once

#include "common/model/occupancy.hpp"

namespace rung {

/// One tile of each operand in shared memory, a thread for each element of the result's tile, or for several of them
/// where the block is narrower than the tile.
struct SharedTile {
  int width = 0;
  int side = 0;           ///< threads along a side of the block
  int element_bytes = 0;  ///< of both operands

  std::int64_t threads() const { return std::int64_t{side} * side; }
  std::int64_t shared_bytes() const { return 2 * std::int64_t{width} * width * element_bytes; }
  std::int64_t loads() const { return 2 * std::int64_t{width} * width; }  ///< of a block in one phase, in elements
  std::int64_t multiply_adds() const { return std::int64_t{width} * width * width; }  ///< of a block in one phase
  /// Requested of global memory: two operations a multiply-add over the bytes loaded.
  double op_per_byte() const { return 2.0 * width / (2 * element_bytes); }
};

/// Throws Error unless 1 <= width <= 4096, and `side`, if it is not 0, divides the width. Side 0: a thread an element.
SharedTile make_tile(int width, int element_bytes, int side = 0);

/// How the tile's block fits an SM. `registers_per_thread` 0: not known.
Occupancy tile_occupancy(const SmLimits& sm, const SharedTile& tile, int registers_per_thread = 0);

/// The widest tile whose block runs, with threads along a side as tile_side() gives them; 0 if there is none.
int widest_tile(const SmLimits& sm, int element_bytes, int registers_per_thread, int most_side);

/// Threads along a side of the block: the width if that is at most `most_side`, else its largest divisor that is. 0: no
/// such limit.
int tile_side(int width, int most_side);

}  // namespace rung
