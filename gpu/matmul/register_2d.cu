/// A register tile in two dimensions: one thread computes 8 x 8 elements of C. For each step in k it reads 8 elements
/// of A and 8 of B from shared memory and forms their outer product: 64 multiply-adds for 16 reads, four for each.
/// Source: Volkov and Demmel, Benchmarking GPUs to tune dense linear algebra, 2008.
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

constexpr int kBlock = 128;  // rows and columns of C that a block computes
constexpr int kDepth = 8;    // columns of A, rows of B that a phase loads
constexpr int kThread = 8;   // rows and columns of C that a thread computes
constexpr int kSide = kBlock / kThread;
constexpr int kThreads = kSide * kSide;
constexpr int kElements = kBlock * kDepth / kThreads;  // of each tile that a thread loads

__global__ void __launch_bounds__(kThreads, 2) matmul_register_2d(General g) {
  __shared__ mem<float> as[kBlock][kDepth];
  __shared__ mem<float> bs[kDepth][kBlock];
  const int tx = threadIdx.x % kSide;
  const int ty = threadIdx.x / kSide;
  const int first_row = blockIdx.y * kBlock, first_col = blockIdx.x * kBlock;
  reg<float> sum[kThread][kThread];
  for (int r = 0; r < kThread; ++r)
    for (int q = 0; q < kThread; ++q) sum[r][q] = 0;
  for (int phase = 0; phase < g.k; phase += kDepth) {
#pragma unroll
    for (int j = 0; j < kElements; ++j) {
      const int i = threadIdx.x + j * kThreads;
      as[i / kDepth][i % kDepth] = element_at(g.a, first_row + i / kDepth, phase + i % kDepth);
    }
#pragma unroll
    for (int j = 0; j < kElements; ++j) {
      const int i = threadIdx.x + j * kThreads;
      bs[i / kBlock][i % kBlock] = element_at(g.b, phase + i / kBlock, first_col + i % kBlock);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      reg<float> column[kThread], line[kThread];
#pragma unroll
      for (int r = 0; r < kThread; ++r) column[r] = as[ty * kThread + r][i];
#pragma unroll
      for (int q = 0; q < kThread; ++q) line[q] = bs[i][q * kSide + tx];  // neighbouring lanes read neighbouring banks
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
    for (int q = 0; q < kThread; ++q) put(g, first_row + ty * kThread + r, first_col + q * kSide + tx, sum[r][q]);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/register_2d",
    .order = 120,
    .title = "register tile 2D",
    .idea = "One thread computes 8 x 8 elements: 16 reads from shared memory feed 64 multiply-adds in registers.",
    .source = {{"volkov2008"}},
    .is_general = true,
    .gpu = {
        .launch = [](const Params& p) { return tiled_launch(p, kBlock, kBlock, {kThreads}); },
        .requested = [](const Params& p) { return tiled_traffic(p, kBlock, kBlock); },
    },
    .run = [](const Call& call) { launch(call, matmul_register_2d, general(call)); },
});

}  // namespace
}  // namespace rung
