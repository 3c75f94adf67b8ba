/// The register tile of the CPU's matrix products: rows x columns of C summed up in vector registers, one step of k
/// after another, from A by single elements and from B by vectors. One portable source (Google Highway), compiled for
/// each SIMD width; a kernel chooses by its tunable "simd".
///
/// A tile of r rows and v vectors needs r v registers for its sums, and each step loads r elements and v vectors for
/// r v multiply-adds: the larger the tile, the further the loads fall behind the arithmetic, until registers run out.
/// Source: Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication (2008); BLIS's micro-kernel.
#pragma once

#include <cstddef>
#include <string>

#include "common/problem/matmul.hpp"

namespace rung {

/// Where a tile's part of B comes from.
enum class FromB {
  matrix,   ///< rows of B as they lie in memory
  sliver,   ///< a packed sliver: the tile's columns of one row after those of the other, whole vectors
  packing,  ///< from the matrix, and stored as a sliver on the way for the tiles below
};

/// One tile's work: C = alpha sum_p A(i, p) B(p, j) + beta C for a few rows i and columns j.
struct Tile {
  int k = 0;        ///< steps
  int columns = 0;  ///< of C; the last vector's further ones are neither read nor written
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  std::ptrdiff_t lda = 0, ldb = 0, ldc = 0;  ///< ldb is not used for slivers
  bool a_is_panel = false;                   ///< A(i, p) lies at a[p rows + i], else at a[i lda + p]
  float alpha = 1, beta = 0;
  float* sliver = nullptr;  ///< FromB::packing: where it goes

  // Asked for while the tile computes, so that they are near when they are wanted.
  bool next_rows = false;          ///< the first lines of as many rows of A as the tile has, below its own
  const float* next_b = nullptr;   ///< `next_count` rows of B
  std::ptrdiff_t next_stride = 0;  ///< elements from one of them to the next
  int next_count = 0;
};

constexpr int kMostTileRows = 14, kMostTileVectors = 4;

/// The tiles of one SIMD width. Those of fewer rows or fewer vectors are for the edges of C.
struct MicroKernels {
  using Run = void (*)(const Tile&);

  int bits = 0;     ///< of a vector register
  int lanes = 0;    ///< float32 elements of a vector
  int rows = 0;     ///< of the largest tile
  int vectors = 0;  ///< of the largest tile

  /// Lower and wider tiles for FromB::matrix, where there are registers enough: they load less for as much arithmetic,
  /// but read B the more often, which must therefore lie in L1. Null where there are none.
  const MicroKernels* wide = nullptr;

  int width() const { return lanes * vectors; }  ///< columns of the largest tile

  /// The tile of `rows` rows for `columns` columns, both at least 1 and at most the largest tile's.
  Run tile(FromB from, int rows, int columns) const {
    const bool in_part = columns % lanes != 0;
    return tiles[static_cast<int>(from)][rows - 1][columns / lanes - !in_part][in_part];
  }
  /// Columns that a sliver of `columns` columns has in memory: whole vectors of the tile that tile() gives.
  int sliver_width(int columns) const { return (columns + lanes - 1) / lanes * lanes; }

  /// Packs a tile's rows of A, at most `rows`, as a panel: to[p high + i] = from[i from_ld + p] for `count` steps p.
  /// Asks for as many rows below.
  void (*pack_panel)(const float* from, std::ptrdiff_t from_ld, int high, int count, float* to) = nullptr;
  /// c[0 … n) = beta c + alpha a[0 … k) B for 1 to 4 rows of A and C, by rows of B: for products that read B once.
  using Stream = void (*)(const Matmul<float>&);
  Stream stream[4] = {};

  Run tiles[3][kMostTileRows][kMostTileVectors][2] = {};  ///< [FromB][rows - 1][vectors - 1][last one in part]
};

/// Rows of A up to which a product is streamed.
constexpr int kMostStreamedRows = 4;

/// The tiles for vectors of so many bits; throws Error if this CPU or this build has none.
const MicroKernels& micro_kernels(std::int64_t bits);

/// "simd": 512, 256 or 128 bits; the widest that this CPU has unless said otherwise.
Tunable simd_tunable();

/// Why this CPU cannot run the width that "simd" asks for; empty if it can.
std::string refuse_simd(const Params& params);

}  // namespace rung
