/// The kernel that splits A and B into terms, before the product: rows of A as they are, columns of B as rows, since
/// tensor cores take rows of k of both. A tile of 64 x 64 for each block; those of B pass through shared memory.
/// Floor: 4 bytes of a number are read, and 8 written.
#pragma once

#include "gpu/matmul/float_terms.hpp"
#include "gpu/matmul/general.hpp"

namespace rung::wgmma {

constexpr int kSplitTile = 64, kSplitThreads = 256;

RUNG_ANYWHERE constexpr std::int64_t padded_depth(std::int64_t k) {
  return (k + kTermDepth - 1) / kTermDepth * kTermDepth;
}

/// 32-bit words of the terms of `rows` rows of k numbers.
constexpr std::size_t words_of_terms(std::int64_t rows, std::int64_t k) {
  return static_cast<std::size_t>(rows * (padded_depth(k) / kTermDepth) * (kTermBlockBytes / 4));
}

namespace {

/// Blocks that split A, and those of them in a row of tiles; then come those that split B.
struct SplitGrid {
  int a_blocks, a_across, b_across;
};

SplitGrid split_grid(const MatmulShape& s) {
  const int across = static_cast<int>(blocks_for(padded_depth(s.k), kSplitTile));
  return {across * static_cast<int>(blocks_for(s.m, kSplitTile)), across,
          static_cast<int>(blocks_for(s.n, kSplitTile))};
}

Launch split_launch(const MatmulShape& s) {
  const SplitGrid grid = split_grid(s);
  const unsigned b_blocks = blocks_for(padded_depth(s.k), kSplitTile) * static_cast<unsigned>(grid.b_across);
  return {{static_cast<unsigned>(grid.a_blocks) + b_blocks}, {kSplitThreads}};
}

/// Writes the terms of numbers `first` to first + 3 of a row, zeros beyond its end. first is a multiple of 4.
template <Type kType>
__device__ __forceinline__ void write_terms(mem<std::uint32_t>* to, int row, int first, int k,
                                            const reg<float>* number) {
  if (first >= padded_depth(k)) return;
  constexpr int kTerms = terms_of(kType), kSlots = kTermBlockBytes / (kTermDepth * (kType == Type::tf32 ? 4 : 2));
  std::uint32_t bits[kSlots][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float term[kTerms];
    split_float<kType>(static_cast<float>(number[i]), term);
#pragma unroll
    for (int t = 0; t < kTerms; ++t) std::memcpy(&bits[t][i], &term[t], sizeof bits[t][i]);
  }
  mem<std::uint32_t>* block = to + (row * (padded_depth(k) / kTermDepth) + first / kTermDepth) * (kTermBlockBytes / 4);
#pragma unroll
  for (int t = 0; t < kSlots; ++t) {
    mem<std::uint32_t>* at = block + term_offset(kType, t, first % kTermDepth) / 4;
    if constexpr (kType == Type::tf32)
      *vector_cast<uint4>(at) = make_uint4(bits[t][0], bits[t][1], bits[t][2], bits[t][3]);
    else
      *vector_cast<uint2>(at) = make_uint2(bits[t][0] >> 16 | bits[t][1], bits[t][2] >> 16 | bits[t][3]);
  }
}

template <Type kType>
__global__ void __launch_bounds__(kSplitThreads)
    split_terms(Matrix<mem<float>> a, Matrix<mem<float>> b, mem<std::uint32_t>* a_terms, mem<std::uint32_t>* b_terms,
                SplitGrid grid) {
  constexpr int kQuads = kSplitTile / 4, kRounds = kSplitTile * kQuads / kSplitThreads;  // quads of a row of a tile
  __shared__ mem<float> tile[kSplitTile][kSplitTile + 1];
  const int block = blockIdx.x, thread = threadIdx.x;
  if (block < grid.a_blocks) {
    const int first_row = block / grid.a_across * kSplitTile + thread / kQuads,
              k = block % grid.a_across * kSplitTile + thread % kQuads * 4;
    constexpr int kRowsOfRound = kSplitThreads / kQuads;
    reg<float> number[kRounds][4];  // all on their way before the first is written
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const float4 quad = quad_at(a, first_row + round * kRowsOfRound, k);
      number[round][0] = quad.x, number[round][1] = quad.y, number[round][2] = quad.z, number[round][3] = quad.w;
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const int row = first_row + round * kRowsOfRound;
      if (row < a.rows) write_terms<kType>(a_terms, row, k, a.cols, number[round]);
    }
    return;
  }
  const int place = block - grid.a_blocks;
  const int first_k = place / grid.b_across * kSplitTile, first_col = place % grid.b_across * kSplitTile;
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int i = round * kSplitThreads + thread;
    const int k = i / kQuads, col = i % kQuads * 4;
    const float4 quad = quad_at(b, first_k + k, first_col + col);
    tile[k][col] = quad.x, tile[k][col + 1] = quad.y, tile[k][col + 2] = quad.z, tile[k][col + 3] = quad.w;
  }
  __syncthreads();
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int i = round * kSplitThreads + thread;
    // Four columns of eight quads for each warp: no two of its 32 numbers are in the same bank.
    const int col = i / (4 * kQuads) * 4 + i % 4, k = i / 4 % kQuads * 4;
    if (first_col + col >= b.cols) continue;
    const reg<float> number[4] = {tile[k][col], tile[k + 1][col], tile[k + 2][col], tile[k + 3][col]};
    write_terms<kType>(b_terms, first_col + col, first_k + k, b.rows, number);
  }
}

/// Splits a call's A and B into the two operands after C.
template <Type kType>
void split_into_terms(const Call& call) {
  const General g = general(call);
  Call splitting = call;
  splitting.launch = split_launch(matmul_shape(call.params));
  launch(splitting, split_terms<kType>, g.a, g.b, call.operand<mem<std::uint32_t>>(3),
         call.operand<mem<std::uint32_t>>(4), split_grid(matmul_shape(call.params)));
}

}  // namespace
}  // namespace rung::wgmma
