/// The schedule that leaves no multiprocessor idle: tiles in waves, but the last ones cut along k.
#pragma once

#include "gpu/matmul/hopper.hpp"

namespace rung::hopper {

/// Whole tiles wave by wave, and of the last, partial wave and the one before it each block has an equal share of all
/// stages (stream-K): a block's share may begin and end within a tile, and the block that has a tile's first stages
/// adds what the others have of it. Or, for few tiles of a long k, every tile in equal parts (split-K).
struct StreamK {
  static constexpr bool kShares = true;
  int tiles, k_tiles, blocks;
  int dense;  // whole tiles, the first ones
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
  /// The first stage that a block has of the tiles after the dense ones, counted through all of them. These are fewer
  /// than two waves, so that the product stays below 2^31: 2 x 256 blocks x 4096 stages x 256. (A division of 64 bits
  /// would be a call, whose return address the compiler spills.)
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

extern template void run<Tile128x256, StreamK>(const Call&, const Plan&);  // compiled with the rung of that name

}  // namespace rung::hopper
