/// Vectorised memory access: one instruction loads four elements of A or B, or reads four elements of a thread's column
/// or row from shared memory, so a quarter of these instructions remain. To this end the tile of A is transposed when
/// it is written into shared memory, so that the elements for one step in k are contiguous.
/// Where a row does not begin at a multiple of 16 bytes, or ends within a float4, single elements are moved.
/// Source: NVIDIA, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access".
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

constexpr int kBlock = 128;  // rows and columns of C that a block computes
constexpr int kDepth = 8;    // columns of A, rows of B that a phase loads
constexpr int kThread = 8;   // rows and columns of C that a thread computes
constexpr int kSide = kBlock / kThread;
constexpr int kThreads = kSide * kSide;
static_assert(kThreads * 4 == kBlock * kDepth, "in a phase each thread loads one float4 of each tile");

__global__ void __launch_bounds__(kThreads, 2) matmul_vectorised(General g) {
  __shared__ __align__(16) mem<float> as[kDepth][kBlock];
  __shared__ __align__(16) mem<float> bs[kDepth][kBlock];
  const int tx = threadIdx.x % kSide;
  const int ty = threadIdx.x / kSide;
  const int a_row = threadIdx.x / (kDepth / 4), a_col = threadIdx.x % (kDepth / 4) * 4;
  const int b_row = threadIdx.x / (kBlock / 4), b_col = threadIdx.x % (kBlock / 4) * 4;
  const int first_row = blockIdx.y * kBlock, first_col = blockIdx.x * kBlock;
  reg<float> sum[kThread][kThread];
  for (int r = 0; r < kThread; ++r)
    for (int q = 0; q < kThread; ++q) sum[r][q] = 0;
  for (int phase = 0; phase < g.k; phase += kDepth) {
    const float4 quad = quad_at(g.a, first_row + a_row, phase + a_col);
    as[a_col][a_row] = quad.x;
    as[a_col + 1][a_row] = quad.y;
    as[a_col + 2][a_row] = quad.z;
    as[a_col + 3][a_row] = quad.w;
    write_quad(&bs[b_row][b_col], quad_at(g.b, phase + b_row, first_col + b_col));
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      reg<float> column[kThread], line[kThread];
#pragma unroll
      for (int q = 0; q < kThread / 4; ++q) read_quad(&as[i][ty * kThread + q * 4], column + q * 4);
#pragma unroll
      for (int q = 0; q < kThread / 4; ++q) read_quad(&bs[i][tx * kThread + q * 4], line + q * 4);
#pragma unroll
      for (int r = 0; r < kThread; ++r)
#pragma unroll
        for (int q = 0; q < kThread; ++q) sum[r][q] += column[r] * line[q];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kThread; ++r)
#pragma unroll
    for (int q = 0; q < kThread / 4; ++q)
      put_quad(g, first_row + ty * kThread + r, first_col + tx * kThread + q * 4, sum[r] + q * 4);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/vectorised",
    .order = 130,
    .title = "vectorised",
    .idea =
        "One instruction moves 16 bytes; A is transposed into shared memory, so that its reads can be vectorised, too.",
    .source = {{"luitjens2013"}},
    .is_general = true,
    .gpu = {
        .launch = [](const Params& p) { return tiled_launch(p, kBlock, kBlock, {kThreads}); },
        .requested = [](const Params& p) { return tiled_traffic(p, kBlock, kBlock); },
    },
    .run = [](const Call& call) { launch(call, matmul_vectorised, general(call)); },
});

}  // namespace
}  // namespace rung
