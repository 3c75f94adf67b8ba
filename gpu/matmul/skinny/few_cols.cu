/// For a C of at most 16 columns. Reading A from memory takes the time. A warp computes two or four rows of C: it reads
/// these rows of A in steps of 256 elements, eight per lane, and loads the next step while it multiplies this one. The
/// matching rows of B are in shared memory, stored by columns; each element read from there is used for all rows of the
/// warp. At the end the lanes' sums are added by shuffles: at each step a lane passes half of its sums on and adds the
/// other half of its partner's. If C has few rows, several blocks divide the depth. Rows may start at any address.
/// Floor: the bytes of A divided by the bandwidth of reading from memory.
#include "gpu/matmul/depth_parts.hpp"

namespace rung {
namespace {

constexpr int kMostCols = 16;
constexpr int kWarps = 8;
constexpr int kStep = 256;         // elements of a row of A
constexpr int kEach = kStep / 32;  // per lane
constexpr int kBlockThreads = 32 * kWarps;
constexpr int kPitch = kStep + 1;  // of a column of B in shared memory: its elements arrive across columns

/// Rows of a warp: more with more columns, so that an element of B is read for several multiply-adds.
template <int Cols>
constexpr int kRowsFor = Cols > 4 ? 4 : 2;

/// Adds sums[i] over the lanes of the warp. Each lane keeps Count / 32 of the Count sums, or shares one with other
/// lanes if Count is below 32. Returns the index of its first sum; the sums are in sums[0] and following.
template <int Count>
__device__ __forceinline__ int add_over_lanes(reg<float> (&sums)[Count], int lane) {
  int kept = Count, first = 0;
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    const bool upper = (lane & half) != 0;
    if (kept > 1) {
      kept /= 2;
#pragma unroll
      for (int i = 0; i < Count / 2; ++i)
        if (i < kept) {
          const reg<float> given = upper ? sums[i] : sums[i + kept], mine = upper ? sums[i + kept] : sums[i];
          sums[i] = mine + __shfl_xor_sync(0xffffffffu, given, half);
        }
      if (upper) first += kept;
    } else {
      sums[0] = sums[0] + __shfl_xor_sync(0xffffffffu, sums[0], half);
    }
  }
  return first;
}

/// Cols: columns of B, as compiled; columns beyond g.n are zeros. `depth`: a block's elements along k, whole steps.
template <int Cols>
__global__ void __launch_bounds__(kBlockThreads) few_cols(General g, int depth, mem<float>* sums) {
  constexpr int kRows = kRowsFor<Cols>, kOfB = (Cols * kStep + kBlockThreads - 1) / kBlockThreads;
  __shared__ mem<float> b_part[2][Cols * kPitch];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = (blockIdx.x * kWarps + warp) * kRows;

  reg<float> next_a[kRows][kEach], next_b[kOfB];
  const auto fetch = [&](int first) {
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
      for (int i = 0; i < kEach; ++i) next_a[row][i] = element_at(g.a, first_row + row, first + lane + 32 * i);
#pragma unroll
    for (int i = 0; i < kOfB; ++i) {
      const int at = threadIdx.x + kBlockThreads * i;
      next_b[i] = element_at(g.b, first + at / Cols, at % Cols);
    }
  };

  reg<float> sum[kRows * Cols] = {};
  const int begin = blockIdx.y * depth, end = min(g.k, begin + depth);
  if (begin < end) fetch(begin);
  for (int first = begin, turn = 0; first < end; first += kStep, turn ^= 1) {
#pragma unroll
    for (int i = 0; i < kOfB; ++i) {
      const int at = threadIdx.x + kBlockThreads * i;
      b_part[turn][at % Cols * kPitch + at / Cols] = next_b[i];
    }
    reg<float> a[kRows][kEach];
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
      for (int i = 0; i < kEach; ++i) a[row][i] = next_a[row][i];
    if (first + kStep < end) fetch(first + kStep);
    __syncthreads();  // this part of B is there; the part before the last is no longer read
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int col = 0; col < Cols; ++col) {
        const reg<float> b = b_part[turn][col * kPitch + 32 * i + lane];
#pragma unroll
        for (int row = 0; row < kRows; ++row) sum[row * Cols + col] += a[row][i] * b;
      }
  }

  constexpr int kSums = kRows * Cols;
  const int at = add_over_lanes(sum, lane);
  constexpr int kLanes = kSums < 32 ? 32 / kSums : 1;  // that have the same sum
  if (lane % kLanes != 0) return;
#pragma unroll
  for (int i = 0; i < (kSums + 31) / 32; ++i) put_part(g, sums, first_row + (at + i) / Cols, (at + i) % Cols, sum[i]);
}

/// Calls act(cols) with the number of columns that a call's kernel is compiled for.
template <typename Act>
auto with_cols(const Params& p, Act&& act) {
  const int n = matmul_shape(p).n;
  if (n == 1) return act(std::integral_constant<int, 1>{});
  if (n == 2) return act(std::integral_constant<int, 2>{});
  if (n <= 4) return act(std::integral_constant<int, 4>{});
  if (n <= 8) return act(std::integral_constant<int, 8>{});
  return act(std::integral_constant<int, kMostCols>{});
}

std::int64_t rows_of_block(const Params& p) {
  return with_cols(p, [](auto cols) { return kWarps * kRowsFor<cols>; });
}

DepthParts parts_of(const Params& p) {
  return depth_parts(p, blocks_for(matmul_shape(p).m, rows_of_block(p)), rows_of_block(p), kStep);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/few_cols",
    .order = 191,
    .title = "few columns",
    .idea =
        "For at most 16 columns of C: A is read once, along its rows, and each element of B in shared memory is used "
        "for several rows.",
    .source = {{"volkov2010"}},
    .is_general = true,
    .refuse =
        [](const Params& p) {
          return matmul_shape(p).n <= kMostCols ? "" : "n must be at most 16: the kernel is for few columns of C";
        },
    .scratch = [](const Params& p) { return scratch_for(parts_of(p), p); },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_for(matmul_shape(p).m, rows_of_block(p)), unsigned(parts_of(p).count)},
                                {kBlockThreads}};
                },
            .requested =
                [](const Params& p) {
                  return with_parts(tiled_traffic(p, rows_of_block(p), kMostCols), parts_of(p), p);
                },
        },
    .run =
        [](const Call& call) {
          with_cols(call.params, [&](auto cols) { run_parts(call, parts_of(call.params), few_cols<cols>); });
        },
});

}  // namespace
}  // namespace rung
