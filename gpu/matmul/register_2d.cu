/// A register tile in two dimensions: one thread computes 8 x 8 elements of C. For each step in k it fetches 8 elements
/// of A and 8 of B from shared memory and multiplies each with each: 64 multiply-adds for 16 reads, four for one.
/// Source: Volkov and Demmel, Benchmarking GPUs to tune dense linear algebra, 2008.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kBlock = 128;  // rows and columns of C that a block computes
constexpr int kDepth = 8;    // columns of A, rows of B that a phase brings in
constexpr int kThread = 8;   // rows and columns of C that a thread computes
constexpr int kSide = kBlock / kThread;
constexpr int kThreads = kSide * kSide;

__global__ void __launch_bounds__(kThreads)
    matmul_register_2d(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n, int k) {
  __shared__ mem<float> as[kBlock][kDepth];
  __shared__ mem<float> bs[kDepth][kBlock];
  const int tx = threadIdx.x % kSide;
  const int ty = threadIdx.x / kSide;
  const int first_row = blockIdx.y * kBlock, first_col = blockIdx.x * kBlock;
  reg<float> sum[kThread][kThread];
  for (int r = 0; r < kThread; ++r)
    for (int q = 0; q < kThread; ++q) sum[r][q] = 0;
  for (int phase = 0; phase < (k + kDepth - 1) / kDepth; ++phase) {
#pragma unroll
    for (int i = threadIdx.x; i < kBlock * kDepth; i += kThreads) {
      const int row = i / kDepth, col = i % kDepth;
      if (first_row + row < m && phase * kDepth + col < k)
        as[row][col] = a[(first_row + row) * k + phase * kDepth + col];
      else
        as[row][col] = 0;
    }
#pragma unroll
    for (int i = threadIdx.x; i < kDepth * kBlock; i += kThreads) {
      const int row = i / kBlock, col = i % kBlock;
      if (phase * kDepth + row < k && first_col + col < n)
        bs[row][col] = b[(phase * kDepth + row) * n + first_col + col];
      else
        bs[row][col] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      reg<float> column[kThread], line[kThread];
#pragma unroll
      for (int r = 0; r < kThread; ++r) column[r] = as[ty * kThread + r][i];
#pragma unroll
      for (int q = 0; q < kThread; ++q) line[q] = bs[i][q * kSide + tx];  // neighbours read neighbouring banks
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
    for (int q = 0; q < kThread; ++q) {
      const int row = first_row + ty * kThread + r, col = first_col + q * kSide + tx;
      if (row < m && col < n) c[row * n + col] = sum[r][q];
    }
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/register_2d",
    .order = 66,
    .title = "register tile 2D",
    .idea = "One thread computes 8 x 8 elements: 16 reads from shared memory feed 64 multiply-adds in registers.",
    .source = "Volkov and Demmel, 2008",
    .launch =
        [](const Params& p) {
          const auto [m, n, k] = matmul_shape(p);
          return Launch{{blocks_for(n, kBlock), blocks_for(m, kBlock)}, {kThreads}};
        },
    .requested =
        [](const Params& p) {
          const auto [m, n, k] = matmul_shape(p);
          return Traffic{.loaded = 4.0 * k * (double(blocks_for(n, kBlock)) * m + double(blocks_for(m, kBlock)) * n),
                         .stored = 4.0 * m * n};
        },
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          launch(call, matmul_register_2d, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
