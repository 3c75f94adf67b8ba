/// A register tile in one dimension: one thread computes eight elements of a column of C. Each element of B that it
/// fetches from shared memory is multiplied eight times, so the multiply-adds no longer wait for shared memory alone.
/// Source: PMPP 4e, section 6.3, taken further; Volkov and Demmel, Benchmarking GPUs to tune dense linear algebra,
/// 2008.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kBlock = 64;      // rows and columns of C that a block computes
constexpr int kDepth = 8;       // columns of A, rows of B that a phase brings in
constexpr int kThreadRows = 8;  // elements of C that a thread computes, one below the other
constexpr int kThreads = kBlock * kBlock / kThreadRows;
static_assert(kThreads == kBlock * kDepth, "a phase brings one element of each tile for each thread");

__global__ void matmul_register_1d(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n, int k) {
  __shared__ mem<float> as[kBlock][kDepth];
  __shared__ mem<float> bs[kDepth][kBlock];
  const int tx = threadIdx.x % kBlock;
  const int ty = threadIdx.x / kBlock;
  const int first_row = blockIdx.y * kBlock;
  const int row = first_row + ty * kThreadRows;
  const int col = blockIdx.x * kBlock + tx;
  const int a_row = threadIdx.x / kDepth, a_col = threadIdx.x % kDepth;
  reg<float> sum[kThreadRows];
  for (int r = 0; r < kThreadRows; ++r) sum[r] = 0;
  for (int phase = 0; phase < (k + kDepth - 1) / kDepth; ++phase) {
    if (first_row + a_row < m && phase * kDepth + a_col < k)
      as[a_row][a_col] = a[(first_row + a_row) * k + phase * kDepth + a_col];
    else
      as[a_row][a_col] = 0;
    if (phase * kDepth + ty < k && col < n)
      bs[ty][tx] = b[(phase * kDepth + ty) * n + col];
    else
      bs[ty][tx] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const reg<float> line = bs[i][tx];
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) sum[r] += as[ty * kThreadRows + r][i] * line;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r)
    if (row + r < m && col < n) c[(row + r) * n + col] = sum[r];
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/register_1d",
    .order = 64,
    .title = "register tile 1D",
    .idea =
        "One thread computes eight elements of a column: what it reads of B from shared memory it uses eight times.",
    .source = "PMPP 4e, section 6.3; Volkov and Demmel, 2008",
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
          launch(call, matmul_register_1d, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
