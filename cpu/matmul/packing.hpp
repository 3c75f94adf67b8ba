/// Packed operands as in BLIS: micro-panels of A as high, and of B as wide, as the micro-kernel's tile, each step of k
/// contiguous, padded with zeros at the edges so that the micro-kernel always has a whole tile.
#pragma once

#include <algorithm>

#include "cpu/matmul/blocking.hpp"

namespace rung {

/// Packs `depth` rows of B from `b` on, `columns` wide, into the micro-panel at `to`.
inline void pack_padded_b(const float* b, std::ptrdiff_t ldb, int depth, int columns, int width, float* to) {
  for (int p = 0; p < depth; ++p, b += ldb, to += width) {
    std::copy_n(b, columns, to);
    std::fill(to + columns, to + width, 0.0f);
  }
}

/// Packs `height` rows of A from `a` on, `depth` steps long, into the micro-panel at `to`.
inline void pack_padded_a(const float* a, std::ptrdiff_t lda, int height, int depth, int rows, float* to) {
  for (int p = 0; p < depth; ++p, to += rows)
    for (int i = 0; i < rows; ++i) to[i] = i < height ? a[i * lda + p] : 0;
}

/// One block of C from a packed block of A (`height` rows) and a packed panel of B (`columns` columns). At the edges
/// the whole tile is stored to a buffer, and the part inside C is copied from there.
inline void multiply_packed(const MicroKernels& simd, const float* packed_a, const float* packed_b, int depth,
                            int height, int columns, float* c, std::ptrdiff_t ldc, float alpha, float beta) {
  alignas(64) float edge[kMostTileElements];
  const int width = simd.width();
  const MicroKernels::Run tile = simd.tile(FromB::packed, simd.rows, width);
  for (int left = 0; left < columns; left += width)
    for (int top = 0; top < height; top += simd.rows) {
      float* place = c + top * ldc + left;
      const int rows = std::min(simd.rows, height - top), wide = std::min(width, columns - left);
      const bool whole = rows == simd.rows && wide == width;
      tile({.k = depth,
            .columns = width,
            .a = packed_a + std::ptrdiff_t{top} * depth,
            .b = packed_b + std::ptrdiff_t{left} * depth,
            .c = whole ? place : edge,
            .ldc = whole ? ldc : width,
            .a_is_packed = true,
            .alpha = alpha,
            .beta = whole ? beta : 0});
      if (whole) continue;
      for (int row = 0; row < rows; ++row)
        for (int col = 0; col < wide; ++col) {
          float& to = place[row * ldc + col];
          to = edge[row * width + col] + (beta == 0 ? 0 : beta * to);
        }
    }
}

}  // namespace rung
