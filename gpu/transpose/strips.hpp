/// The order of the tiles of a transpose that run together.
#pragma once

#include "common/problem/transpose.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// Where a block's tile is: strips of `strip` columns of tiles follow each other, and each is covered row by row. So
/// concurrent blocks cover roughly a square: in row order they would read whole rows of A and write a few hundred bytes
/// of every row of B.
struct TilePlace {
  int row, col;
};
__device__ inline TilePlace tile_place(int block, int strip, int tile_rows, int tile_cols) {
  const int left = block / (strip * tile_rows) * strip;
  const int width = min(strip, tile_cols - left), within = block - left * tile_rows;
  return {within / width, left + within % width};
}

}  // namespace
}  // namespace rung
