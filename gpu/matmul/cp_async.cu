/// Double buffering: the next tiles are loaded while the current ones are used, with two buffers in shared memory and
/// one barrier per phase instead of two. B's tile is loaded by asynchronous copies, which need no registers and stall
/// no thread. Such a copy cannot transpose, so A's tile is loaded into registers before the multiply-adds of a phase
/// and stored to shared memory after them. Source: NVIDIA CUDA C++ Programming Guide, asynchronous data copies;
/// cp.async of compute capability 8.0.
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

constexpr int kBlock = 128;                    // rows and columns of C that a block computes
constexpr int kDepth = 8;                      // columns of A, rows of B that a phase loads
constexpr int kWarpRows = 64, kWarpCols = 32;  // of C that a warp computes
constexpr int kThread = 8;                     // rows and columns of C that a thread computes
constexpr int kLanesDown = kWarpRows / kThread, kLanesAcross = kWarpCols / kThread;
constexpr int kWarpsAcross = kBlock / kWarpCols;
constexpr int kThreads = kBlock * kBlock / kThread / kThread;
constexpr int kPadding = 4;  // elements: shifts each row of the transposed tile by 4 banks
static_assert(kThreads * 4 == kBlock * kDepth, "in a phase each thread loads one float4 of each tile");

/// Starts the copy of elements col to col + 3 of a row, with zeros beyond the matrix; col is a multiple of 4.
template <typename Element>
__device__ __forceinline__ void copy_quad(Element* to, const Matrix<Element>& x, int row, int col) {
  if (x.quads && row < x.rows && col + 3 < x.cols) {
    __pipeline_memcpy_async(to, x.at + (row * x.ld + col), 16);
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const bool inside = row < x.rows && col + e < x.cols;
    __pipeline_memcpy_async(to + e, inside ? x.at + (row * x.ld + col + e) : x.at, 4, inside ? 0 : 4);
  }
}

__global__ void __launch_bounds__(kThreads, 2) matmul_cp_async(General g) {
  __shared__ __align__(16) mem<float> as[2][kDepth][kBlock + kPadding];
  __shared__ __align__(16) mem<float> bs[2][kDepth][kBlock];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int ty = warp / kWarpsAcross * kWarpRows + lane / kLanesAcross * 4;  // a thread's first row and column
  const int tx = warp % kWarpsAcross * kWarpCols + lane % kLanesAcross * 4;
  const int a_row = threadIdx.x / (kDepth / 4), a_col = threadIdx.x % (kDepth / 4) * 4;
  const int b_row = threadIdx.x / (kBlock / 4), b_col = threadIdx.x % (kBlock / 4) * 4;
  const int first_row = blockIdx.y * kBlock, first_col = blockIdx.x * kBlock;
  float4 quad;
  const auto load = [&](int phase, int buffer) {
    quad = quad_at(g.a, first_row + a_row, phase + a_col);
    copy_quad(&bs[buffer][b_row][b_col], g.b, phase + b_row, first_col + b_col);
    __pipeline_commit();
  };
  const auto store_transposed = [&](int buffer) {
    as[buffer][a_col][a_row] = quad.x;
    as[buffer][a_col + 1][a_row] = quad.y;
    as[buffer][a_col + 2][a_row] = quad.z;
    as[buffer][a_col + 3][a_row] = quad.w;
  };
  reg<float> sum[kThread][kThread];
  for (int r = 0; r < kThread; ++r)
    for (int q = 0; q < kThread; ++q) sum[r][q] = 0;
  if (g.k > 0) {
    load(0, 0);
    store_transposed(0);
  }
  for (int phase = 0; phase < g.k; phase += kDepth) {
    const int now = phase / kDepth % 2;
    const bool more = phase + kDepth < g.k;
    __pipeline_wait_prior(0);
    __syncthreads();  // this phase's tiles are complete, and no thread reads the other buffers any more
    if (more) load(phase + kDepth, 1 - now);
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      reg<float> column[kThread], line[kThread];
#pragma unroll
      for (int q = 0; q < kThread / 4; ++q) read_quad(&as[now][i][ty + q * 4 * kLanesDown], column + q * 4);
#pragma unroll
      for (int q = 0; q < kThread / 4; ++q) read_quad(&bs[now][i][tx + q * 4 * kLanesAcross], line + q * 4);
#pragma unroll
      for (int r = 0; r < kThread; ++r)
#pragma unroll
        for (int q = 0; q < kThread; ++q) sum[r][q] += column[r] * line[q];
    }
    if (more) store_transposed(1 - now);
  }
#pragma unroll
  for (int r = 0; r < kThread; ++r)
#pragma unroll
    for (int q = 0; q < kThread / 4; ++q)
      put_quad(g, first_row + ty + r / 4 * 4 * kLanesDown + r % 4, first_col + tx + q * 4 * kLanesAcross,
               sum[r] + q * 4);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/cp_async",
    .order = 160,
    .title = "cp.async",
    .idea =
        "The next tiles are loaded, B's by asynchronous copies, while the current ones are used: latency is hidden.",
    .source = {{"cuda-guide", "asynchronous data copies"}},
    .is_general = true,
    .gpu = {
        .min_compute_capability = 80,
        .launch = [](const Params& p) { return tiled_launch(p, kBlock, kBlock, {kThreads}); },
        .requested = [](const Params& p) { return tiled_traffic(p, kBlock, kBlock); },
    },
    .run = [](const Call& call) { launch(call, matmul_cp_async, general(call)); },
});

}  // namespace
}  // namespace rung
