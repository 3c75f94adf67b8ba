/// No two lanes that shared memory serves together access different words of the same bank. Reads: the 8 columns of a
/// thread are two float4s, half a block apart, so that neighbouring lanes read neighbouring float4s; with 8 contiguous
/// columns they would read every second float4. Writes: a padding of 4 elements shifts each row of the transposed tile,
/// so that the lanes that write two float4s of a row of A, 4 rows of the tile apart, access different banks. Source:
/// NVIDIA CUDA C++ Programming Guide, shared memory; Kerr and others, CUTLASS: fast linear algebra in CUDA C++, 2017.
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

constexpr int kBlock = 128;        // rows and columns of C that a block computes
constexpr int kDepth = 8;          // columns of A, rows of B that a phase loads
constexpr int kThread = 8;         // rows and columns of C that a thread computes
constexpr int kHalf = kBlock / 2;  // from a thread's first float4 to its second
constexpr int kPadding = 4;        // elements: shifts each row of the transposed tile by 4 banks
constexpr int kSide = kBlock / kThread;
constexpr int kThreads = kSide * kSide;
static_assert(kThreads * 4 == kBlock * kDepth, "in a phase each thread loads one float4 of each tile");

__global__ void __launch_bounds__(kThreads, 2) matmul_conflict_free(General g) {
  __shared__ __align__(16) mem<float> as[kDepth][kBlock + kPadding];
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
      for (int q = 0; q < kThread / 4; ++q) read_quad(&as[i][q * kHalf + ty * 4], column + q * 4);
#pragma unroll
      for (int q = 0; q < kThread / 4; ++q) read_quad(&bs[i][q * kHalf + tx * 4], line + q * 4);
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
      put_quad(g, first_row + r / 4 * kHalf + ty * 4 + r % 4, first_col + q * kHalf + tx * 4, sum[r] + q * 4);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/conflict_free",
    .order = 140,
    .title = "conflict-free",
    .idea = "The float4s of a thread are half a block apart and the transposed tile is padded: no bank conflicts.",
    .source = {{"cuda-guide", "shared memory banks"}, {"kerr2017"}},
    .is_general = true,
    .gpu = {
        .launch = [](const Params& p) { return tiled_launch(p, kBlock, kBlock, {kThreads}); },
        .requested = [](const Params& p) { return tiled_traffic(p, kBlock, kBlock); },
    },
    .run = [](const Call& call) { launch(call, matmul_conflict_free, general(call)); },
});

}  // namespace
}  // namespace rung
