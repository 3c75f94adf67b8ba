/// Tiles on three levels: block, warp and thread. A warp computes 64 x 32 elements of C, and each of its 8 x 4 lanes
/// 8 x 8. For a step in k it needs 64 elements of A and 32 of B, whereas a warp of two rows of threads needs 16 and
/// 128. So shared memory delivers two thirds of the words, each to several lanes, and the phases can be twice as deep.
/// Source: Kerr and others, CUTLASS: fast linear algebra in CUDA C++, 2017.
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

constexpr int kBlock = 128;                    // rows and columns of C that a block computes
constexpr int kDepth = 16;                     // columns of A, rows of B that a phase loads
constexpr int kWarpRows = 64, kWarpCols = 32;  // of C that a warp computes
constexpr int kThread = 8;                     // rows and columns of C that a thread computes
constexpr int kLanesDown = kWarpRows / kThread, kLanesAcross = kWarpCols / kThread;
constexpr int kWarpsAcross = kBlock / kWarpCols;
constexpr int kThreads = kBlock * kBlock / kThread / kThread;
constexpr int kPadding = 4;                             // elements: shifts each row of the transposed tile by 4 banks
constexpr int kQuads = kBlock * kDepth / 4 / kThreads;  // of each tile that a thread loads
static_assert(kLanesDown * kLanesAcross == 32);

__global__ void __launch_bounds__(kThreads, 2) matmul_warp_tiled(General g) {
  __shared__ __align__(16) mem<float> as[kDepth][kBlock + kPadding];
  __shared__ __align__(16) mem<float> bs[kDepth][kBlock];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int ty = warp / kWarpsAcross * kWarpRows + lane / kLanesAcross * 4;  // a thread's first row and column
  const int tx = warp % kWarpsAcross * kWarpCols + lane % kLanesAcross * 4;
  const int first_row = blockIdx.y * kBlock, first_col = blockIdx.x * kBlock;
  reg<float> sum[kThread][kThread];
  for (int r = 0; r < kThread; ++r)
    for (int q = 0; q < kThread; ++q) sum[r][q] = 0;
  for (int phase = 0; phase < g.k; phase += kDepth) {
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      const int i = threadIdx.x + j * kThreads;
      const int row = i / 2 % kBlock, col = (i / (2 * kBlock) * 2 + i % 2) * 4;  // the stores of a warp use all banks
      const float4 quad = quad_at(g.a, first_row + row, phase + col);
      as[col][row] = quad.x;
      as[col + 1][row] = quad.y;
      as[col + 2][row] = quad.z;
      as[col + 3][row] = quad.w;
    }
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      const int i = threadIdx.x + j * kThreads;
      const int row = i / (kBlock / 4), col = i % (kBlock / 4) * 4;
      write_quad(&bs[row][col], quad_at(g.b, phase + row, first_col + col));
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      reg<float> column[kThread], line[kThread];
#pragma unroll
      for (int q = 0; q < kThread / 4; ++q) read_quad(&as[i][ty + q * 4 * kLanesDown], column + q * 4);
#pragma unroll
      for (int q = 0; q < kThread / 4; ++q) read_quad(&bs[i][tx + q * 4 * kLanesAcross], line + q * 4);
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
      put_quad(g, first_row + ty + r / 4 * 4 * kLanesDown + r % 4, first_col + tx + q * 4 * kLanesAcross,
               sum[r] + q * 4);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/warp_tiled",
    .order = 150,
    .title = "warp tiles",
    .idea = "A warp computes a nearly square tile of C, so it needs fewer words of A and B, each shared among lanes.",
    .source = {{"kerr2017"}},
    .is_general = true,
    .gpu = {
        .launch = [](const Params& p) { return tiled_launch(p, kBlock, kBlock, {kThreads}); },
        .requested = [](const Params& p) { return tiled_traffic(p, kBlock, kBlock); },
    },
    .run = [](const Call& call) { launch(call, matmul_warp_tiled, general(call)); },
});

}  // namespace
}  // namespace rung
