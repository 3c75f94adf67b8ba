/// The shapes of the blocks that cover a matrix.
#pragma once

#include <algorithm>

#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

struct IndexBlock {
  unsigned x, y;
};
constexpr IndexBlock kIndexBlocks[] = {{32, 8}, {256, 1}, {16, 16}, {8, 32}, {4, 4}, {1, 256}};

/// For .tunables.
inline Tunable index_blocks() { return {"block", words({"32x8", "256x1", "16x16", "8x32", "4x4", "1x256"})}; }

/// A grid that covers `x` by `y` elements in blocks of the chosen shape. It has at most 65 535 blocks in y: for more,
/// each block takes several places.
inline Launch cover_plane(const Params& p, std::int64_t x, std::int64_t y) {
  const IndexBlock block = kIndexBlocks[p.at("block")];
  return {{blocks_for(x, block.x), std::min(blocks_for(y, block.y), 65535u)}, {block.x, block.y}};
}

inline Traffic matrix_traffic(const Params& p) {
  const double bytes = 4.0 * static_cast<double>(p.at("m") * p.at("n"));
  return {.loaded = bytes, .stored = bytes};
}

}  // namespace
}  // namespace rung
