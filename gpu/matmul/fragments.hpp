/// Shared by the rungs that multiply 16-bit numbers with mma.sync: swizzled tiles in shared memory, the products of a
/// warp, and the stores of its sums.
///
/// A block of 8 warps, 2 down and 4 across, computes 128 x 128 elements of C in steps of 32 in k. A tile is an array of
/// chunks of 16 bytes, 8 elements of a row. ldmatrix reads 8 rows of one chunk at a time, 128 bytes in one wavefront if
/// no two rows are in the same banks; for that, chunks are permuted within their row when the tile is written.
/// Source: CUTLASS, permuted shared-memory layouts.
#pragma once

#include "gpu/matmul/general.hpp"
#include "gpu/simt/mma.hpp"

namespace rung {
namespace {

constexpr int kFragmentTile = 128;             // rows and columns of C that a block computes
constexpr int kDepth = 32;                     // steps in k of a tile
constexpr int kWarpRows = 64, kWarpCols = 32;  // of C that a warp computes
constexpr int kWarpsAcross = kFragmentTile / kWarpCols;
constexpr int kFragmentThreads = kFragmentTile / kWarpRows * kWarpsAcross * 32;
constexpr int kChunk = 8;                                 // elements
constexpr int kChunks = kFragmentTile * kDepth / kChunk;  // of a tile of A, or of B
constexpr int kChunksOfA = kDepth / kChunk;               // in a row of A's tile
constexpr int kChunksOfB = kFragmentTile / kChunk;        // in a row of B's tile

/// A 16-bit number as its bits.
using Bits16 = std::uint16_t;
using Gemm16 = Gemm<mem<Bits16>, mem<float>>;

/// Where chunk `chunk` of a row of A's tile is: two rows fill the banks, so each pair of rows has its own order.
__device__ __forceinline__ int place_of_a(int row, int chunk) {
  return row * kChunksOfA + (chunk ^ row / 2 % kChunksOfA);
}
/// Where a chunk of a row of B's tile is: each of eight rows has its own order.
__device__ __forceinline__ int place_of_b(int row, int chunk) { return row * kChunksOfB + (chunk ^ row % 8); }

/// Elements col to col + 7 of a row, with zeros beyond the matrix; col is a multiple of 8.
__device__ __forceinline__ uint4 chunk_at(const Matrix<mem<Bits16>>& x, int row, int col) {
  if (x.quads && row < x.rows && col + kChunk <= x.cols) {
    const uint4 whole = *vector_cast<uint4>(x.at + (row * x.ld + col));
    return whole;
  }
  unsigned words[kChunk / 2];
#pragma unroll
  for (int pair = 0; pair < kChunk / 2; ++pair) {
    words[pair] = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = col + 2 * pair + half;
      if (row < x.rows && at < x.cols) {
        const Bits16 bits = x.at[row * x.ld + at];
        words[pair] |= static_cast<unsigned>(bits) << 16 * half;
      }
    }
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// The sums of a lane: 4 x 4 fragments of 16 x 8 elements.
struct Sums {
  reg<float> at[kWarpRows / 16][kWarpCols / 8][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& row : at)
#pragma unroll
      for (auto& fragment : row)
#pragma unroll
        for (auto& sum : fragment) sum = 0;
  }
};

/// Adds the products of two tiles.
template <Type kType>
__device__ __forceinline__ void multiply_tiles(Sums& sums, const mem<uint4>* as, const mem<uint4>* bs) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = warp / kWarpsAcross * kWarpRows, first_col = warp % kWarpsAcross * kWarpCols;
#pragma unroll
  for (int k = 0; k < kDepth; k += 16) {
    unsigned a[kWarpRows / 16][4], b[kWarpCols / 8][2];
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i)
      ldmatrix4(a[i], as + place_of_a(first_row + 16 * i + lane % 16, k / kChunk + lane / 16));
#pragma unroll
    for (int j = 0; j < kWarpCols / 16; ++j) {
      unsigned two[4];
      ldmatrix4_transposed(two, bs + place_of_b(k + lane % 16, first_col / kChunk + 2 * j + lane / 16));
      b[2 * j][0] = two[0];
      b[2 * j][1] = two[1];
      b[2 * j + 1][0] = two[2];
      b[2 * j + 1][1] = two[3];
    }
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i)
#pragma unroll
      for (int j = 0; j < kWarpCols / 8; ++j) mma<kType>(sums.at[i][j], a[i], b[j]);
  }
}

/// C = alpha sum + beta C, for a lane's elements.
__device__ __forceinline__ void put_sums(const Gemm16& g, const Sums& sums) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = blockIdx.y * kFragmentTile + warp / kWarpsAcross * kWarpRows + lane / 4;
  const int first_col = blockIdx.x * kFragmentTile + warp % kWarpsAcross * kWarpCols + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kWarpRows / 16; ++i)
#pragma unroll
    for (int j = 0; j < kWarpCols / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + 16 * i + 8 * half, col = first_col + 8 * j;
        const reg<float>* pair = sums.at[i][j] + 2 * half;
        if (g.c_quads && row < g.m && col + 1 < g.n) {
          mem<float2>* c = vector_cast<float2>(g.c + (row * g.ldc + col));
          float2 old = make_float2(0, 0);
          if (g.beta != 0) old = *c;
          *c = make_float2(g.alpha * pair[0] + g.beta * old.x, g.alpha * pair[1] + g.beta * old.y);
        } else {
          put(g, row, col, pair[0]);
          put(g, row, col + 1, pair[1]);
        }
      }
}

inline Launch fragments_launch(const Params& p) {
  return tiled_launch(p, kFragmentTile, kFragmentTile, {kFragmentThreads});
}
inline Traffic fragments_traffic(const Params& p) {
  return tiled_traffic(p, kFragmentTile, kFragmentTile, sizeof(Bits16));
}
inline Gemm16 gemm16(const Call& call) { return general<mem<Bits16>, mem<float>, Bits16>(call); }

}  // namespace
}  // namespace rung
