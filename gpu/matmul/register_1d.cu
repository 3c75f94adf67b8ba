/// A register tile in one dimension: one thread computes eight elements of a column of C. Each element of B that it
/// reads from shared memory is used eight times, so shared memory limits the rate of multiply-adds less.
/// Source: PMPP 4e, section 6.3, extended; Volkov and Demmel, Benchmarking GPUs to tune dense linear algebra, 2008.
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

constexpr int kBlock = 64;      // rows and columns of C that a block computes
constexpr int kDepth = 8;       // columns of A, rows of B that a phase loads
constexpr int kThreadRows = 8;  // elements of C that a thread computes, in one column
constexpr int kThreads = kBlock * kBlock / kThreadRows;
static_assert(kThreads == kBlock * kDepth, "in a phase each thread loads one element of each tile");

__global__ void __launch_bounds__(kThreads) matmul_register_1d(General g) {
  __shared__ mem<float> as[kBlock][kDepth];
  __shared__ mem<float> bs[kDepth][kBlock];
  const int tx = threadIdx.x % kBlock;
  const int ty = threadIdx.x / kBlock;
  const int a_row = threadIdx.x / kDepth, a_col = threadIdx.x % kDepth;
  const int first_row = blockIdx.y * kBlock, col = blockIdx.x * kBlock + tx;
  reg<float> sum[kThreadRows];
  for (int r = 0; r < kThreadRows; ++r) sum[r] = 0;
  for (int phase = 0; phase < g.k; phase += kDepth) {
    as[a_row][a_col] = element_at(g.a, first_row + a_row, phase + a_col);
    bs[ty][tx] = element_at(g.b, phase + ty, col);
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
  for (int r = 0; r < kThreadRows; ++r) put(g, first_row + ty * kThreadRows + r, col, sum[r]);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/register_1d",
    .order = 110,
    .title = "register tile 1D",
    .idea = "One thread computes eight elements of a column and uses each element of B from shared memory eight times.",
    .source = {{"pmpp", "section 6.3"}, {"volkov2008"}},
    .is_general = true,
    .gpu = {
        .launch = [](const Params& p) { return tiled_launch(p, kBlock, kBlock, {kThreads}); },
        .requested = [](const Params& p) { return tiled_traffic(p, kBlock, kBlock); },
    },
    .run = [](const Call& call) { launch(call, matmul_register_1d, general(call)); },
});

}  // namespace
}  // namespace rung
