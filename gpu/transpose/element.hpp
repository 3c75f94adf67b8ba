/// Shared by the two naive kernels: one thread per element, and the shapes of their blocks.
#pragma once

#include "common/problem/transpose.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

struct BlockShape {
  unsigned x, y;
};
constexpr BlockShape kShapes[] = {{32, 8}, {16, 16}, {32, 32}};

/// For .tunables.
inline Tunable block_shapes() { return {"block", words({"32x8", "16x16", "32x32"})}; }

/// A grid that covers `x` by `y` elements in blocks of the chosen shape.
inline Launch cover(const Params& p, std::int64_t x, std::int64_t y) {
  const BlockShape block = kShapes[p.at("block")];
  return {{blocks_for(x, block.x), blocks_for(y, block.y)}, {block.x, block.y}};
}

inline Traffic transpose_traffic(const Params& p) {
  return {.loaded = 4 * transpose_elements(p), .stored = 4 * transpose_elements(p)};
}

}  // namespace
}  // namespace rung
