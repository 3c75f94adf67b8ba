/// The blocked transpose, for ordinary and for streaming stores. Blocks of 16 x 16 elements are whole lines of both
/// matrices, transposed in registers. A tile has few rows and is processed along them, so that the prefetchers see the
/// rows of A as streams; and threads have neighbouring tiles at a time, so that together they write long stretches of
/// B's rows.
#pragma once

#include <omp.h>

#include <algorithm>
#include <utility>

#include "common/problem/transpose.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {
namespace {

constexpr std::int64_t kBlock = 16;  // float32 of a line

constexpr int kWidest = kVectorBytes / sizeof(float);

/// Vectors of kWidth elements: aligned, and anywhere in a row of A. (Of two attributes of one alias that depends on a
/// parameter, clang leaves `aligned` out.)
template <int kWidth>
using Vector __attribute__((vector_size(kWidth * sizeof(float)), may_alias)) = float;
template <int kWidth>
struct __attribute__((packed, may_alias)) LooseVector {
  Vector<kWidth> lanes;
};

/// Exchanges, in each pair of rows `kDistance` apart, the off-diagonal elements of the blocks of 2 x 2 that they form.
template <int kDistance, int kWidth, std::size_t... Lane>
inline void exchange(Vector<kWidth>& upper, Vector<kWidth>& lower, std::index_sequence<Lane...>) {
  // Lanes from kWidth on are lanes of `lower`.
  constexpr auto above = [](int lane) { return lane & kDistance ? kWidth + lane - kDistance : lane; };
  constexpr auto below = [](int lane) { return lane & kDistance ? kWidth + lane : lane + kDistance; };
  const Vector<kWidth> kept = __builtin_shufflevector(upper, lower, above(Lane)...);
  lower = __builtin_shufflevector(upper, lower, below(Lane)...);
  upper = kept;
}

/// Transposes a square of vectors in registers, in log2(kWidth) steps.
/// Source: Eklundh, A fast computer method for matrix transposing, 1972.
template <int kWidth, int kDistance = 1>
inline void transpose_square(Vector<kWidth> (&rows)[kWidth]) {
  if constexpr (kDistance < kWidth) {
#pragma GCC unroll 16
    for (int row = 0; row < kWidth; ++row)
      if ((row & kDistance) == 0)
        exchange<kDistance, kWidth>(rows[row], rows[row + kDistance], std::make_index_sequence<kWidth>());
    transpose_square<kWidth, 2 * kDistance>(rows);
  }
}

/// A block of 16 x 16: each line of B is written whole, at once. B's rows begin at multiples of a vector.
template <Store kStore, int kWidth>
inline void transpose_block(const float* a, std::int64_t cols, float* b, std::int64_t rows) {
  constexpr int kSquares = kBlock / kWidth;
  for (int across = 0; across < kBlock; across += kWidth) {
    Vector<kWidth> square[kSquares][kWidth];
    for (int i = 0; i < kSquares; ++i) {
#pragma GCC unroll 16
      for (int row = 0; row < kWidth; ++row)
        square[i][row] = reinterpret_cast<const LooseVector<kWidth>*>(a + (kWidth * i + row) * cols + across)->lanes;
      transpose_square<kWidth>(square[i]);
    }
#pragma GCC unroll 16
    for (int line = 0; line < kWidth; ++line)
      for (int i = 0; i < kSquares; ++i) {
        float* to = b + (across + line) * rows + kWidth * i;
        if constexpr (kStore == Store::streaming && kHasStreamingStores)
          stream(to, square[i][line]);
        else
          *reinterpret_cast<Vector<kWidth>*>(to) = square[i][line];
      }
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

/// For .tunables. A tile has few rows: where their distance is a power of two, lines of many rows, and prefetched
/// lines, evict each other from the few sets of a cache that they share. The rows are long, since prefetching restarts
/// with each.
inline std::vector<Tunable> tile_sides() {
  return {{"rows", {32, 16, 64, 128}}, {"cols", {8192, 256, 1024}}, {"prefetch", {4, 0, 2, 8}}};
}

/// The tile that the parameters name, with fewer columns if there would not be several tiles per thread.
inline Tile tile_of(const Params& p) {
  const std::int64_t rows = p.at("rows"), wanted = 4 * omp_get_max_threads();
  const std::int64_t panels = (p.at("m") + rows - 1) / rows,
                     pieces = (wanted + panels - 1) / std::max<std::int64_t>(panels, 1);
  const std::int64_t cols = (p.at("n") / std::max<std::int64_t>(pieces, 1) + kBlock - 1) / kBlock * kBlock;
  return {rows, std::clamp(cols, kBlock, p.at("cols"))};
}

/// B = A^T with vectors of kWidth. Parts of blocks, and everything if B's rows do not begin at multiples of a vector,
/// are transposed element by element.
template <Store kStore, int kWidth>
void transpose_tiles(const Call& call, const Tile& tile, std::int64_t ahead) {
  const auto* a = call.operand<const float>(0);
  auto* b = call.operand<float>(1);
  const std::int64_t rows = call.params.at("m"), cols = call.params.at("n");
  const bool aligned = rows % kWidth == 0;
#pragma omp parallel
  {
#pragma omp for collapse(2) schedule(static, 1)
    for (std::int64_t left = 0; left < cols; left += tile.cols)
      for (std::int64_t top = 0; top < rows; top += tile.rows) {
        const std::int64_t right = std::min(left + tile.cols, cols), bottom = std::min(top + tile.rows, rows);
        for (std::int64_t col = left; col < right; col += kBlock)
          for (std::int64_t row = top; row < bottom; row += kBlock) {
            const std::int64_t height = std::min(kBlock, bottom - row), width = std::min(kBlock, right - col);
            const float* from = a + row * cols + col;
            float* to = b + col * rows + row;
            if (aligned && height == kBlock && width == kBlock) {
              if (ahead != 0 && col + ahead < right)
                for (int i = 0; i < kBlock; ++i) __builtin_prefetch(from + i * cols + ahead, 0, 2);
              transpose_block<kStore, kWidth>(from, cols, to, rows);
            } else {
              transpose_part(from, cols, to, rows, height, width);
            }
          }
      }
    finish_stores<kStore>();
  }
}

/// The same with the widest vectors that B's rows allow. Where lines of B hold parts of two rows, its stores are
/// ordinary: a line that bypasses the caches in two parts is transferred twice.
template <Store kStore>
void transpose_blocked(const Call& call) {
  const Tile tile = tile_of(call.params);
  const std::int64_t rows = call.params.at("m"), ahead = call.params.at("prefetch") * kBlock;
  if (rows % kBlock == 0)
    transpose_tiles<kStore, kWidest>(call, tile, ahead);
  else if (rows % kWidest == 0)
    transpose_tiles<Store::ordinary, kWidest>(call, tile, ahead);
  else
    transpose_tiles<Store::ordinary, 4>(call, tile, ahead);
}

}  // namespace
}  // namespace rung
