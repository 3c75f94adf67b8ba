/// Schedules: which tiles of C a block computes, and in which order. A schedule is constructed from the Work of a
/// launch in each thread; next() returns the block's pieces one after the other, total() their stages, place() a tile's
/// place.
#pragma once

#include "gpu/simt/simt.hpp"

namespace rung::hopper {
inline namespace RUNG_BUILD {

/// The work of a launch, in tiles of C and, along k, in stages.
struct Work {
  int tiles, k_tiles;
  int parts;   ///< of each tile along k, each with a separate plane
  bool share;  ///< divide the tiles of the last, partial wave among all blocks
};

/// A piece of work for a block: `length` stages of a tile of C, from k0 on.
struct Piece {
  int tile = 0, k0 = 0, length = 0;
};

struct Place {
  int row, col;  ///< in tiles
};

/// Tiles in groups of `most` rows of tiles, column by column: blocks that run at the same time need few rows of A and
/// columns of B, which L2 then holds for all of them.
__device__ __forceinline__ Place grouped_place(int tile, int rows, int cols, int most = 8) {
  const int group = tile / (most * cols);
  const int height = min(most, rows - group * most);
  const int within = tile - group * most * cols;
  return {group * most + within % height, within / height};
}

/// The schedule of persistent blocks. Whole tiles in waves: block b computes tiles b, b + blocks, b + 2 blocks … If
/// work.share is set, each block has an equal share of all stages of the last, partial wave and the one before it
/// (stream-K): a share may begin and end within a tile, and the block with the first stages of a tile adds the other
/// blocks' partial sums. If work.parts > 1, for few tiles and a long k, every tile is split into equal parts (split-K).
struct StreamK {
  static constexpr bool kShares = true;
  int tiles, k_tiles, blocks;
  int dense;  // tiles that are not shared: the first ones
  int tile, unit = 0, end = 0;

  __device__ explicit StreamK(const Work& work)
      : tiles(work.tiles),
        k_tiles(work.k_tiles),
        blocks(gridDim.x),
        dense(work.tiles),
        tile(static_cast<int>(blockIdx.x)) {
    const int block = blockIdx.x;
    if (work.parts > 1) {
      const int start = block % tiles * k_tiles, part = block / tiles;
      dense = 0;
      unit = start + k_tiles * part / work.parts;
      end = start + k_tiles * (part + 1) / work.parts;
    } else if (work.share && tiles % blocks != 0) {
      dense = max(0, tiles / blocks - 1) * blocks;
      unit = first_unit(block);
      end = first_unit(block + 1);
    }
  }
  /// The first stage of a block's share of the tiles after the dense ones, counted through all these tiles. They are
  /// fewer than two waves, so the product is below 2^31: 2 x 256 blocks x 4096 stages x 256. (A 64-bit division would
  /// be a function call, whose return address the compiler spills.)
  __device__ int first_unit(int block) const {
    return static_cast<int>(static_cast<unsigned>((tiles - dense) * k_tiles * block) / static_cast<unsigned>(blocks));
  }
  __device__ int total() const {
    const int waves = dense > tile ? (dense - tile + blocks - 1) / blocks : 0;
    return waves * k_tiles + end - unit;
  }
  __device__ bool next(Piece& piece) {
    if (tile < dense) {
      piece = {tile, 0, k_tiles};
      tile += blocks;
      return true;
    }
    if (unit >= end) return false;
    const int k0 = unit % k_tiles;
    piece = {dense + unit / k_tiles, k0, min(k_tiles - k0, end - unit)};
    unit += piece.length;
    return true;
  }
  __device__ static Place place(int tile, int rows, int cols) { return grouped_place(tile, rows, cols); }
};

}  // namespace RUNG_BUILD
}  // namespace rung::hopper
