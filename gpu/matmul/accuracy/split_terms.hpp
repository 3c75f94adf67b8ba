/// The kernels before the product. One splits A and B into terms: rows of A as they are, columns of B as rows, since
/// tensor cores read both along k. Each block splits a tile of 64 x 64; tiles of B pass through shared memory. For
/// terms in FP16 another kernel, before that, finds the largest numbers of A and of B.
/// Floor: 4 bytes per number are read, and 8 written; in FP16 4 bytes are read twice, and 4 written.
#pragma once

#include "common/machine/device_facts.hpp"
#include "gpu/matmul/accuracy/float_terms.hpp"
#include "gpu/matmul/general.hpp"
#include "gpu/simt/hopper_ptx.hpp"

namespace rung::wgmma {

constexpr int kSplitTile = 64, kSplitThreads = 256;

RUNG_ANYWHERE constexpr std::int64_t padded_depth(Type type, std::int64_t k) {
  return (k + term_depth(type) - 1) / term_depth(type) * term_depth(type);
}

/// 32-bit words of the terms of `rows` rows of k numbers.
constexpr std::size_t words_of_terms(Type type, std::int64_t rows, std::int64_t k) {
  return static_cast<std::size_t>(rows * (padded_depth(type, k) / term_depth(type)) * (term_block_bytes(type) / 4));
}

// The words that the kernels for FP16 pass to the kernels after them: whether FP16 does not hold the terms of all
// numbers; the powers of two by which sums are multiplied in the end; and the largest numbers of kParts parts of A, and
// of B.
constexpr int kUnfit = 0, kFactorOfA = 1, kFactorOfB = 2, kLargest = 3, kParts = 512;
constexpr int kWordsOfRange = kLargest + 2 * kParts;

/// These words, and when the kernels of a product run: if FP16 does not hold the terms, or if it does. Null: always.
struct TermRange {
  mem<unsigned>* at = nullptr;
  bool if_unfit = false;
};

namespace {

/// All blocks; the first ones, which split A; and the blocks in a row of tiles of A, and of B.
struct SplitGrid {
  int blocks, a_blocks, a_across, b_across;
};

SplitGrid split_grid(std::int64_t padded_k, const MatmulShape& s) {
  const int down = static_cast<int>(blocks_for(padded_k, kSplitTile)),
            across = static_cast<int>(blocks_for(s.n, kSplitTile)),
            a_blocks = down * static_cast<int>(blocks_for(s.m, kSplitTile));
  return {a_blocks + down * across, a_blocks, down, across};
}

/// One block per tile, but only few where most likely nothing is to be split.
Launch split_launch(Type type, const MatmulShape& s, bool if_unfit = false) {
  const int blocks = split_grid(padded_depth(type, s.k), s).blocks, few = 4 * gpu_facts().sm_count;
  return {{static_cast<unsigned>(if_unfit ? std::min(blocks, few) : blocks)}, {kSplitThreads}};
}

/// Finds the largest |number| of each part of A and of B, as bits, which have the same order. NaN is larger than any.
template <Type kType>
__global__ void __launch_bounds__(kSplitThreads)
    find_largest(Matrix<mem<float>> a, Matrix<mem<float>> b, mem<unsigned>* range) {
  constexpr int kStride = kParts * kSplitThreads;
  const bool is_b = blockIdx.x >= kParts;
  const Matrix<mem<float>> x = is_b ? b : a;
  const int across = (x.cols + 3) / 4, quads = x.rows * across;
  unsigned largest = 0;
  const auto take = [&](float4 quad) {
    const auto size = [](reg<float> number) { return __float_as_uint(number) & 0x7fffffffu; };
    largest = max(max(largest, max(size(quad.x), size(quad.y))), max(size(quad.z), size(quad.w)));
  };
  int i = blockIdx.x % kParts * kSplitThreads + threadIdx.x;
  if (x.quads && x.cols % 4 == 0) {
    constexpr int kAtOnce = 4;
    for (; i + (kAtOnce - 1) * kStride < quads; i += kAtOnce * kStride) {
      float4 quad[kAtOnce];  // all in flight before the first is used
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const int at = i + j * kStride;
        quad[j] = *vector_cast<float4>(x.at + (at / across * x.ld + at % across * 4));
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) take(quad[j]);
    }
  }
  for (; i < quads; i += kStride) take(quad_at(x, i / across, i % across * 4));
  __shared__ mem<unsigned> of_warp[kSplitThreads / 32];
  largest = __reduce_max_sync(~0u, largest);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kSplitThreads / 32; ++w) largest = max(largest, static_cast<unsigned>(of_warp[w]));
    range[kLargest + blockIdx.x] = largest;
    if (blockIdx.x == 0) range[kUnfit] = 0;
  }
}

/// How a matrix is scaled for FP16.
struct Scaling {
  float factor = 1;         // brings the largest number to 2^14 or above it, but below 2^15
  float least = 0;          // the smallest scaled number, except 0, that two FP16 hold well enough
  bool is_outside = false;  // the exponent is too large or too small for factors that are normal numbers
};

/// All threads of a block call it.
__device__ __forceinline__ Scaling scaling_of(const mem<unsigned>* largest_of_parts, int k) {
  __shared__ mem<unsigned> of_warp[kSplitThreads / 32];
  unsigned largest = 0;
#pragma unroll
  for (int i = 0; i < kParts; i += kSplitThreads)
    largest = max(largest, static_cast<unsigned>(largest_of_parts[i + threadIdx.x]));
  largest = __reduce_max_sync(~0u, largest);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = largest;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kSplitThreads / 32; ++w) largest = max(largest, static_cast<unsigned>(of_warp[w]));
  if (largest == 0) return {};
  const unsigned exponent = largest >> 23;  // of the largest number, plus 127
  if (exponent < 127 - 60 || exponent > 127 + 60) return {.is_outside = true};
  // Relative error (k + 2) 2^-24 at most: then C is as accurate as SGEMM's bound requires.
  const float least = kMissedFp16 * 0x1p24f / static_cast<float>(k + 2);
  const auto factor = static_cast<float>(__uint_as_float((127 + 14 + 127 - exponent) << 23));
  return {.factor = factor, .least = least < kFullFp16 ? least : kFullFp16};
}

/// Writes the terms of numbers `first` to first + 3 of a row, zeros beyond its end. first is a multiple of 4. Returns
/// whether FP16 does not hold them.
template <Type kType>
__device__ __forceinline__ bool write_terms(mem<std::uint32_t>* to, int row, int first, int k, const reg<float>* number,
                                            const Scaling& scaling) {
  if (first >= padded_depth(kType, k)) return false;
  constexpr int kDepth = term_depth(kType), kBytes = term_block_bytes(kType);
  mem<std::uint32_t>* block =
      to + (row * static_cast<std::int64_t>(padded_depth(kType, k) / kDepth) + first / kDepth) * (kBytes / 4);
  if constexpr (kType == Type::fp16) {
    bool is_unfit = scaling.is_outside;
    float scaled[4], rest[4];
    for (int i = 0; i < 4; ++i) {
      scaled[i] = static_cast<float>(number[i]) * scaling.factor;
      is_unfit = is_unfit || (static_cast<float>(number[i]) != 0 && fabsf(scaled[i]) < scaling.least);
    }
    std::uint32_t halves[2], second[2];
    for (int pair = 0; pair < 2; ++pair) {
      halves[pair] = hopper::halves_of(make_float2(scaled[2 * pair], scaled[2 * pair + 1]));
      const float2 held = hopper::floats_of(halves[pair]);
      rest[0] = (scaled[2 * pair] - static_cast<float>(held.x)) * kSecondFp16;
      rest[1] = (scaled[2 * pair + 1] - static_cast<float>(held.y)) * kSecondFp16;
      second[pair] = hopper::halves_of(make_float2(rest[0], rest[1]));
    }
    *vector_cast<uint2>(block + term_offset(kType, 0, first % kDepth) / 4) = make_uint2(halves[0], halves[1]);
    *vector_cast<uint2>(block + term_offset(kType, 1, first % kDepth) / 4) = make_uint2(second[0], second[1]);
    return is_unfit;
  } else {
    constexpr int kTerms = terms_of(kType), kSlots = kBytes / (kDepth * (kType == Type::tf32 ? 4 : 2));
    std::uint32_t bits[kSlots][4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float term[kTerms];
      split_float<kType>(static_cast<float>(number[i]), term);
#pragma unroll
      for (int t = 0; t < kTerms; ++t) std::memcpy(&bits[t][i], &term[t], sizeof bits[t][i]);
    }
#pragma unroll
    for (int t = 0; t < kSlots; ++t) {
      mem<std::uint32_t>* at = block + term_offset(kType, t, first % kDepth) / 4;
      if constexpr (kType == Type::tf32)
        *vector_cast<uint4>(at) = make_uint4(bits[t][0], bits[t][1], bits[t][2], bits[t][3]);
      else
        *vector_cast<uint2>(at) = make_uint2(bits[t][0] >> 16 | bits[t][1], bits[t][2] >> 16 | bits[t][3]);
    }
    return false;
  }
}

constexpr int kQuads = kSplitTile / 4;  // of a row of a tile
constexpr int kRowsOfRound = kSplitThreads / kQuads, kRounds = kSplitTile / kRowsOfRound;

/// Reads a thread's float4s of a tile, from (row, col) on and `step` rows apart. All loads are in flight before the
/// first is used, except at the edges and where no float4 can be loaded. `is_whole`: no part of the tile is outside.
__device__ __forceinline__ void read_quads(const Matrix<mem<float>>& x, bool is_whole, int row, int col, int step,
                                           float4 (&quad)[kRounds]) {
  if (x.quads && is_whole) {
    const mem<float>* from = x.at + (row * x.ld + col);
#pragma unroll
    for (int round = 0; round < kRounds; ++round) quad[round] = *vector_cast<float4>(from + round * step * x.ld);
  } else {
#pragma unroll
    for (int round = 0; round < kRounds; ++round) quad[round] = quad_at(x, row + round * step, col);
  }
}

__device__ __forceinline__ bool has_whole_tile(const Matrix<mem<float>>& x, int first_row, int first_col) {
  return first_row + kSplitTile <= x.rows && first_col + kSplitTile <= x.cols;
}

// Where a thread's float4s along k begin in a tile: the same in each round.
__device__ __forceinline__ int first_k_of_row_quad() { return threadIdx.x % kQuads * 4; }
__device__ __forceinline__ int first_k_of_column_quad() { return threadIdx.x / 4 % kQuads * 4; }

/// Calls use(row, k, numbers k to k + 3) for a thread's float4s of the tile of A that begins at (tile_row, tile_k).
template <class Use>
__device__ __forceinline__ void each_row_quad(const Matrix<mem<float>>& a, int tile_row, int tile_k, Use use) {
  const int first_row = tile_row + static_cast<int>(threadIdx.x) / kQuads, k = tile_k + first_k_of_row_quad();
  float4 quad[kRounds];
  read_quads(a, has_whole_tile(a, tile_row, tile_k), first_row, k, kRowsOfRound, quad);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int row = first_row + round * kRowsOfRound;
    const reg<float> number[4] = {quad[round].x, quad[round].y, quad[round].z, quad[round].w};
    if (row < a.rows) use(row, k, number);
  }
}

/// The same for B, whose columns become rows: use(column, k, numbers k to k + 3).
template <class Use>
__device__ __forceinline__ void each_column_quad(const Matrix<mem<float>>& b, int first_k, int first_col, Use use) {
  __shared__ mem<float> tile[kSplitTile][kSplitTile + 1];
  const int thread = threadIdx.x, first = thread / kQuads, col = thread % kQuads * 4;
  float4 quad[kRounds];
  read_quads(b, has_whole_tile(b, first_k, first_col), first_k + first, first_col + col, kRowsOfRound, quad);
  __syncthreads();  // the tile before has been read
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    mem<float>* to = &tile[first + round * kRowsOfRound][col];
    to[0] = quad[round].x, to[1] = quad[round].y, to[2] = quad[round].z, to[3] = quad[round].w;
  }
  __syncthreads();
  const int k = first_k_of_column_quad();
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    // A warp reads four columns at eight rows, 4 apart: no two of its 32 numbers are in the same bank.
    const int i = round * kSplitThreads + thread, col = i / (4 * kQuads) * 4 + i % 4;
    if (first_col + col >= b.cols) continue;
    const reg<float> number[4] = {tile[k][col], tile[k + 1][col], tile[k + 2][col], tile[k + 3][col]};
    use(first_col + col, first_k + k, number);
  }
}

/// In FP16, each block has one tile.
template <Type kType>
__global__ void __launch_bounds__(kSplitThreads)
    split_terms(Matrix<mem<float>> a, Matrix<mem<float>> b, mem<std::uint32_t>* a_terms, mem<std::uint32_t>* b_terms,
                SplitGrid grid, mem<unsigned>* range) {
  constexpr bool kIsScaled = kType == Type::fp16;
  const int first = blockIdx.x;
  Scaling scaling;
  if constexpr (kIsScaled) {
    const bool is_b = first >= grid.a_blocks;
    scaling = scaling_of(range + kLargest + (is_b ? kParts : 0), a.cols);
    if (threadIdx.x == 0 && (first == 0 || first == grid.a_blocks))
      range[is_b ? kFactorOfB : kFactorOfA] = __float_as_uint(1 / scaling.factor);
  } else {
    if (range != nullptr && range[kUnfit] == 0) return;
  }
  bool is_unfit = false;
  for (int block = first; block < grid.blocks; block += gridDim.x) {
    const int place = block - grid.a_blocks;
    if (place < 0)
      each_row_quad(a, block / grid.a_across * kSplitTile, block % grid.a_across * kSplitTile,
                    [&](int row, int k, const reg<float>(&number)[4]) {
                      is_unfit |= write_terms<kType>(a_terms, row, k, a.cols, number, scaling);
                    });
    else
      each_column_quad(b, place / grid.b_across * kSplitTile, place % grid.b_across * kSplitTile,
                       [&](int col, int k, const reg<float>(&number)[4]) {
                         is_unfit |= write_terms<kType>(b_terms, col, k, b.rows, number, scaling);
                       });
  }
  if constexpr (kIsScaled) {
    if (__syncthreads_or(is_unfit) && threadIdx.x == 0) atomicOr(range + kUnfit, 1u);
  }
}

/// Splits a call's A and B into the two operands after C.
template <Type kType>
void split_into_terms(const Call& call, const TermRange& range) {
  const General g = general(call);
  const MatmulShape shape = matmul_shape(call.params);
  Call splitting = call;
  if constexpr (kType == Type::fp16) {
    splitting.launch = {{2 * kParts}, {kSplitThreads}};
    launch(splitting, find_largest<kType>, g.a, g.b, range.at);
  }
  splitting.launch = split_launch(kType, shape, range.if_unfit);
  launch(splitting, split_terms<kType>, g.a, g.b, call.operand<mem<std::uint32_t>>(3),
         call.operand<mem<std::uint32_t>>(4), split_grid(padded_depth(kType, shape.k), shape), range.at);
}

}  // namespace
}  // namespace rung::wgmma
