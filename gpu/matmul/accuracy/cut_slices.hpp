/// The kernels before a product of slices: three that find exponents, and the one that cuts A and B into slices
/// (int8_slices.hpp), rows of A as they are, columns of B as rows.
///
/// The exponents of rows of A and of columns of B are not enough: where the numbers along k have different scales, most
/// numbers are small next to the largest one of their row of A or column of B, and their last bits would be lost. So
/// column i of A is multiplied by a power of two, and row i of B divided by it, which changes no product. Three kernels
/// find, one after the other, the exponents of A's rows and of B's columns; relative to these, the exponents of A's
/// columns and of B's rows, which give the powers of two; and the exponents of the resulting rows and columns.
///
/// Floor: 4 bytes of a number are read four times, and its slices, 4 bytes, are written: 20 bytes per number. Cutting a
/// tile while it is loaded would save these kernels, but each block would need the exponents all the same, and at N =
/// 4096 22 or 32 blocks would cut the same numbers.
#pragma once

#include "gpu/matmul/accuracy/int8_slices.hpp"
#include "gpu/matmul/accuracy/split_terms.hpp"

namespace rung::wgmma {

/// Of the rows of A and the columns of B; then, relative to these, of the columns of A and the rows of B.
struct Exponents {
  mem<int>*of_rows, *of_cols, *of_a, *of_b;
};

enum class Find { lines, along_k, balanced };

namespace {

Exponents exponents_at(mem<int>* at, const MatmulShape& s) {
  return {at, at + s.m, at + s.m + s.n, at + s.m + s.n + s.k};
}

/// Threads of a block that read the same four columns of a tile, or the same row.
constexpr int kSharers = kSplitThreads / kQuads;
static_assert(kSharers == kRowsOfRound && kSharers == kQuads && kRounds == 4);

/// The powers of two for numbers `first` to first + 3 along k; 0 beyond the last.
__device__ __forceinline__ void read_balance(const Exponents& exponents, int first, int k, bool of_b, int (&power)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    power[i] = 0;
    if (first + i < k) power[i] = balance(exponents.of_a[first + i], exponents.of_b[first + i]);
    if (of_b) power[i] = -power[i];
  }
}

/// Finds the largest exponents of up to 64 lines of a matrix, rows or columns. To each number's exponent it adds a
/// value for the number's place along the line: 0, minus the exponent of the line across, or its power of two.
template <Find kFind, bool kOfB>
__device__ __forceinline__ void find_in_strip(const Matrix<mem<float>>& x, int first_line, const Exponents& exponents) {
  constexpr bool kLinesAreColumns = kOfB != (kFind == Find::along_k);
  const int thread = threadIdx.x, row = thread / kQuads, col = thread % kQuads * 4;
  const int lines = kLinesAreColumns ? x.cols : x.rows, length = kLinesAreColumns ? x.rows : x.cols;
  __shared__ mem<int> largest[kSplitTile];
  if (thread < kSplitTile) largest[thread] = kNoExponent;
  __syncthreads();
  int own[4] = {kNoExponent, kNoExponent, kNoExponent, kNoExponent};  // of the four columns, or of each round's row
  for (int at = 0; at < length; at += kSplitTile) {
    const int tile_row = kLinesAreColumns ? at : first_line, tile_col = kLinesAreColumns ? first_line : at;
    float4 quad[kRounds];
    read_quads(x, has_whole_tile(x, tile_row, tile_col), tile_row + row, tile_col + col, kRowsOfRound, quad);
    int change[4] = {};  // of each round's row, or of the four columns
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int place = at + (kLinesAreColumns ? row + i * kRowsOfRound : col + i);
      if (place >= length) continue;
      if constexpr (kFind == Find::along_k) change[i] = -(kOfB ? exponents.of_cols : exponents.of_rows)[place];
      if constexpr (kFind == Find::balanced)
        change[i] = (kOfB ? -1 : 1) * balance(exponents.of_a[place], exponents.of_b[place]);
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const reg<float> number[4] = {quad[round].x, quad[round].y, quad[round].z, quad[round].w};
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        int exponent = exponent_of(__float_as_uint(number[e]));
        if (kFind == Find::along_k && exponent == kNotFinite) exponent = kNoExponent;  // other rows have numbers there
        if (exponent != kNoExponent && exponent != kNotFinite) exponent += change[kLinesAreColumns ? round : e];
        int& most = own[kLinesAreColumns ? e : round];
        most = max(most, exponent);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) atomicMax(&largest[kLinesAreColumns ? col + i : row + i * kRowsOfRound], own[i]);
  __syncthreads();
  mem<int>* found = kFind == Find::along_k ? (kOfB ? exponents.of_b : exponents.of_a)
                                           : (kOfB ? exponents.of_cols : exponents.of_rows);
  if (thread < kSplitTile && first_line + thread < lines) found[first_line + thread] = largest[thread];
}

template <Find kFind>
__global__ void __launch_bounds__(kSplitThreads)
    find_exponents(Matrix<mem<float>> a, Matrix<mem<float>> b, Exponents exponents, int a_strips) {
  const int strip = blockIdx.x;
  if (strip < a_strips)
    find_in_strip<kFind, false>(a, strip * kSplitTile, exponents);
  else
    find_in_strip<kFind, true>(b, (strip - a_strips) * kSplitTile, exponents);
}

/// Writes the slices of four numbers along k. `power`: the powers of two by which they are multiplied before.
__device__ __forceinline__ void write_slices(mem<std::uint32_t>* to, std::int64_t row, int first, std::int64_t padded,
                                             bool of_b, const reg<float> (&number)[4], const int (&power)[4],
                                             int exponent) {
  std::uint32_t slice[kSlices] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int whole = exponent == kNotFinite
                          ? 0
                          : __float2int_rn(ldexpf(static_cast<float>(number[i]), kFractionBits + power[i] - exponent));
#pragma unroll
    for (int place = 0; place < kSlices; ++place)
      slice[place] |= static_cast<std::uint32_t>(slice_of(whole, place) & 0xff) << (8 * i);
  }
#pragma unroll
  for (int place = 0; place < kSlices; ++place)
    to[(row * kSlices + (of_b ? kSlices - 1 - place : place)) * (padded / 4) + first / 4] = slice[place];
}

__global__ void __launch_bounds__(kSplitThreads)
    cut_slices(Matrix<mem<float>> a, Matrix<mem<float>> b, mem<std::uint32_t>* a_slices, mem<std::uint32_t>* b_slices,
               SplitGrid grid, Exponents exponents) {
  const std::int64_t padded = padded_slice(a.cols);
  const int block = blockIdx.x, place = block - grid.a_blocks;
  int power[4];
  if (place < 0) {
    const int tile_row = block / grid.a_across * kSplitTile, tile_k = block % grid.a_across * kSplitTile;
    read_balance(exponents, tile_k + first_k_of_row_quad(), a.cols, false, power);
    each_row_quad(a, tile_row, tile_k, [&](int row, int k, const reg<float>(&number)[4]) {
      write_slices(a_slices, row, k, padded, false, number, power, exponents.of_rows[row]);
    });
  } else {
    const int tile_k = place / grid.b_across * kSplitTile, tile_col = place % grid.b_across * kSplitTile;
    read_balance(exponents, tile_k + first_k_of_column_quad(), b.rows, true, power);
    each_column_quad(b, tile_k, tile_col, [&](int col, int k, const reg<float>(&number)[4]) {
      write_slices(b_slices, col, k, padded, true, number, power, exponents.of_cols[col]);
    });
  }
}

template <Find kFind>
void find(const Call& call, const General& g, const Exponents& exponents) {
  const auto strips = [](int lines) { return blocks_for(lines, kSplitTile); };
  const unsigned a_strips = strips(kFind == Find::along_k ? g.k : g.m),
                 b_strips = strips(kFind == Find::along_k ? g.k : g.n);
  Call finding = call;
  finding.launch = {{a_strips + b_strips}, {kSplitThreads}};
  launch(finding, find_exponents<kFind>, g.a, g.b, exponents, static_cast<int>(a_strips));
}

/// Cuts a call's A and B into operands 3 and 4. The exponents are in operand 5.
void cut_into_slices(const Call& call, const Exponents& exponents) {
  const General g = general(call);
  find<Find::lines>(call, g, exponents);
  find<Find::along_k>(call, g, exponents);
  find<Find::balanced>(call, g, exponents);
  const SplitGrid grid = split_grid(padded_slice(g.k), {g.m, g.n, g.k});
  Call cutting = call;
  cutting.launch = {{static_cast<unsigned>(grid.blocks)}, {kSplitThreads}};
  launch(cutting, cut_slices, g.a, g.b, call.operand<mem<std::uint32_t>>(3), call.operand<mem<std::uint32_t>>(4), grid,
         exponents);
}

/// The bytes of these kernels. 16 threads of a block read each exponent.
inline Traffic cut_traffic(const MatmulShape& s) {
  const double numbers = double(s.k) * (double(s.m) + s.n), lines = double(s.m) + s.n;
  const double padded = double(padded_slice(s.k));
  const double tiles_across_k = blocks_for(s.m, kSplitTile) + blocks_for(s.n, kSplitTile);
  const double relative = 4.0 * kSharers * lines * blocks_for(s.k, kSplitTile);  // exponents of lines
  const double powers = 2 * 8.0 * kSharers * s.k * tiles_across_k;               // to find, and to cut
  const double lines_to_cut = 4.0 * kSharers * lines * (padded / kSplitTile);
  return {.loaded = 4 * 4.0 * numbers + relative + powers + lines_to_cut,
          .stored = 4 * (2 * lines + 2.0 * s.k) + kSlices * padded * lines};
}

}  // namespace
}  // namespace rung::wgmma
