/// The micro-kernel of the CPU's matrix products: a register tile of rows x columns of C, summed in vector registers
/// one step of k after another, from single elements of A and vectors of B. One portable source (Google Highway),
/// compiled for each SIMD width (cpu/simd_widths.hpp); a kernel selects one by its tunable "simd".
///
/// A tile of r rows and v vectors needs r v registers for its sums. Each step loads r elements and v vectors and makes
/// r v multiply-adds: a larger tile needs fewer loads per multiply-add, until registers run out.
/// Source: Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication (2008); BLIS's micro-kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "common/problem/matmul.hpp"
#include "cpu/simd_widths.hpp"

namespace rung {

/// Where a tile reads B.
enum class FromB {
  matrix,   ///< in place
  packed,   ///< in a packed micro-panel: the tile's columns, row after row, in whole vectors
  packing,  ///< in place, and it stores the micro-panel for the tiles below
};

/// The work of one tile: C = alpha sum_p A(i, p) B(p, j) + beta C for a few rows i and columns j.
struct Tile {
  int k = 0;        ///< steps
  int columns = 0;  ///< of C; the lanes of the last vector beyond them are masked
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  std::ptrdiff_t lda = 0, ldb = 0, ldc = 0;  ///< ldb is not used for FromB::packed
  bool a_is_packed = false;                  ///< A(i, p) is at a[p rows + i], else at a[i lda + p]
  float alpha = 1, beta = 0;
  float* packed_b = nullptr;  ///< FromB::packing: destination of the micro-panel

  // To be prefetched while the tile computes.
  bool next_rows = false;          ///< the beginning of the rows of A below the tile's
  const float* next_b = nullptr;   ///< `next_count` rows of B
  std::ptrdiff_t next_stride = 0;  ///< elements from one row to the next
  int next_count = 0;
};

constexpr int kMostTileRows = [] {
  int most = 0;
  for (const SimdWidth& width : kSimdWidths) most = std::max({most, width.tile.rows, width.wide_tile.rows});
  return most;
}();
constexpr int kMostTileVectors = [] {
  int most = 0;
  for (const SimdWidth& width : kSimdWidths) most = std::max({most, width.tile.vectors, width.wide_tile.vectors});
  return most;
}();
/// Elements of the largest tile.
constexpr int kMostTileElements = [] {
  int most = 0;
  for (const SimdWidth& width : kSimdWidths)
    for (const TileShape& tile : {width.tile, width.wide_tile})
      most = std::max(most, tile.rows * tile.vectors * width.lanes());
  return most;
}();

/// The tiles of one SIMD width. Tiles with fewer rows or fewer vectors are for the edges of C.
struct MicroKernels {
  using Run = void (*)(const Tile&);

  int bits = 0;     ///< of a vector register
  int lanes = 0;    ///< float32 elements of a vector
  int rows = 0;     ///< of the largest tile
  int vectors = 0;  ///< of the largest tile

  /// Lower and wider tiles for FromB::matrix: they need fewer loads per multiply-add but read B more often, so B must
  /// be in L1. Null if there are too few registers.
  const MicroKernels* wide = nullptr;

  int width() const { return lanes * vectors; }  ///< columns of the largest tile

  /// The tile of `rows` rows for `columns` columns, both at least 1 and at most the largest tile's.
  Run tile(FromB from, int rows, int columns) const {
    const bool masked = columns % lanes != 0;
    return tiles[static_cast<int>(from)][rows - 1][columns / lanes - !masked][masked];
  }
  /// Columns of a packed micro-panel for `columns` columns: whole vectors.
  int packed_width(int columns) const { return (columns + lanes - 1) / lanes * lanes; }

  /// Packs `height` rows of A, at most `rows`, into a micro-panel: to[p height + i] = from[i from_ld + p] for `count`
  /// steps p. Prefetches the same number of rows below.
  void (*pack_a)(const float* from, std::ptrdiff_t from_ld, int height, int count, float* to) = nullptr;
  /// c[0 … n) = beta c + alpha a[0 … k) B for 1 to 4 rows of A and C, along rows of B: for products that read B once.
  using Stream = void (*)(const Matmul<float>&);
  Stream stream[4] = {};

  Run tiles[3][kMostTileRows][kMostTileVectors][2] = {};  ///< [FromB][rows - 1][vectors - 1][last vector masked]
};

/// The most rows of A with which a product is streamed.
constexpr int kMostStreamedRows = 4;

/// The tiles for vectors of `bits` bits; throws Error if this CPU or this build has none.
const MicroKernels& micro_kernels(std::int64_t bits);

/// "simd": 512, 256 or 128 bits; by default the widest that this CPU has.
Tunable simd_tunable();

/// Why this CPU cannot run the width "simd"; empty if it can.
std::string refuse_simd(const Params& params);

}  // namespace rung
