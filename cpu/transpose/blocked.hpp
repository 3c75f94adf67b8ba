/// The blocked transpose, for ordinary and for streaming stores. Blocks of 16 x 16 elements are whole lines of both
/// matrices. A tile of blocks is walked along the rows of B, so that each of these grows by consecutive lines, within
/// few pages of either matrix.
#pragma once

#include <omp.h>

#include <algorithm>

#include "common/problem/transpose.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {
namespace {

constexpr std::int64_t kBlock = 16;  // float32 of a line

using Quad __attribute__((vector_size(16), may_alias)) = float;
using LooseQuad __attribute__((vector_size(16), may_alias, aligned(4))) = float;  // anywhere in a row of A
using Order __attribute__((vector_size(16))) = std::int32_t;

/// Stores 16 bytes, past the caches if so asked.
template <Store kStore>
inline void store_quad(float* to, Quad quad) {
  if constexpr (kStore == Store::ordinary || !kHasStreamingStores) {
    *reinterpret_cast<Quad*>(to) = quad;
  } else {
    stream(to, quad);
  }
}

/// Transposes four rows of four elements in registers.
inline void transpose_quads(Quad (&quad)[4]) {
  const Quad low01 = __builtin_shuffle(quad[0], quad[1], Order{0, 4, 1, 5});
  const Quad high01 = __builtin_shuffle(quad[0], quad[1], Order{2, 6, 3, 7});
  const Quad low23 = __builtin_shuffle(quad[2], quad[3], Order{0, 4, 1, 5});
  const Quad high23 = __builtin_shuffle(quad[2], quad[3], Order{2, 6, 3, 7});
  quad[0] = __builtin_shuffle(low01, low23, Order{0, 1, 4, 5});
  quad[1] = __builtin_shuffle(low01, low23, Order{2, 3, 6, 7});
  quad[2] = __builtin_shuffle(high01, high23, Order{0, 1, 4, 5});
  quad[3] = __builtin_shuffle(high01, high23, Order{2, 3, 6, 7});
}

/// A block of 16 x 16: each line of B is written whole, at once. B's rows begin at multiples of 16 bytes.
template <Store kStore>
inline void transpose_block(const float* a, std::int64_t cols, float* b, std::int64_t rows) {
  for (int across = 0; across < kBlock; across += 4) {
    Quad quad[4][4];
    for (int i = 0; i < 4; ++i) {
      for (int row = 0; row < 4; ++row)
        quad[i][row] = *reinterpret_cast<const LooseQuad*>(a + (4 * i + row) * cols + across);
      transpose_quads(quad[i]);
    }
    for (int line = 0; line < 4; ++line)
      for (int i = 0; i < 4; ++i) store_quad<kStore>(b + (across + line) * rows + 4 * i, quad[i][line]);
  }
}

/// Any part of the matrix, element by element.
inline void transpose_part(const float* a, std::int64_t cols, float* b, std::int64_t rows, std::int64_t height,
                           std::int64_t width) {
  for (std::int64_t col = 0; col < width; ++col)
    for (std::int64_t row = 0; row < height; ++row) b[col * rows + row] = a[row * cols + col];
}

/// Rows and columns of A that a thread takes at a time: multiples of a block.
struct Tile {
  std::int64_t rows, cols;
};

/// For .tunables. The rows of a tile are few: where their distance is a power of two, lines of many of them, and those
/// that the prefetchers bring along, push each other out of the few sets of a cache that they share.
inline std::vector<Tunable> tile_sides() { return {{"rows", {32, 16, 64, 128}}, {"cols", {256, 64, 1024}}}; }

template <Store kStore>
void transpose_blocked(const Call& call, const Tile& tile) {
  const auto* a = call.operand<const float>(0);
  auto* b = call.operand<float>(1);
  const std::int64_t rows = call.params.at("m"), cols = call.params.at("n");
  const bool aligned = rows % 4 == 0;
#pragma omp parallel
  {
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t top = 0; top < rows; top += tile.rows)
      for (std::int64_t left = 0; left < cols; left += tile.cols)
        for (std::int64_t col = left; col < std::min(left + tile.cols, cols); col += kBlock)
          for (std::int64_t row = top; row < std::min(top + tile.rows, rows); row += kBlock) {
            const std::int64_t height = std::min(kBlock, rows - row), width = std::min(kBlock, cols - col);
            const float* from = a + row * cols + col;
            float* to = b + col * rows + row;
            if (aligned && height == kBlock && width == kBlock)
              transpose_block<kStore>(from, cols, to, rows);
            else
              transpose_part(from, cols, to, rows, height, width);
          }
    finish_stores<kStore>();
  }
}

}  // namespace
}  // namespace rung
