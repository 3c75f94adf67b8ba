/// Beyond the source: a thread keeps its columns of B in registers, all 16 rows, and goes down the rows of C. For each
/// row it reads 16 elements of A from shared memory, the same for the whole warp, and uses each once for every column:
/// a load of 16 bytes for 16 multiply-adds, instead of two loads for each. What remains is to store C. Source: Volkov
/// and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra.
#include <algorithm>

#include "gpu/matmul/skinny/skinny.hpp"

namespace rung {
namespace {

constexpr int kThreads = 128;
constexpr int kCols = 4;  // of a thread, kThreads apart: a warp stores 128 neighbouring bytes

using Rows = Choices<64, 32, 128>;  // of a block

template <int BlockRows>
__global__ void __launch_bounds__(kThreads)
    skinny_registers(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n) {
  __shared__ __align__(16) mem<float> a_tile[BlockRows][kSkinnyDepth];
  const int first_row = blockIdx.y * BlockRows;
  const int first_col = blockIdx.x * kThreads * kCols + threadIdx.x;
  const int rows = min(BlockRows, m - first_row);
  for (int i = threadIdx.x; i < rows * kSkinnyDepth; i += kThreads)
    a_tile[i / kSkinnyDepth][i % kSkinnyDepth] = a[first_row * kSkinnyDepth + i];
  reg<float> column[kCols][kSkinnyDepth];
#pragma unroll
  for (int j = 0; j < kCols; ++j)
#pragma unroll
    for (int i = 0; i < kSkinnyDepth; ++i) {
      const int col = first_col + j * kThreads;
      column[j][i] = 0;
      if (col < n) column[j][i] = b[i * n + col];
    }
  __syncthreads();
  for (int row = 0; row < rows; ++row) {
    reg<float> sum[kCols] = {};
#pragma unroll
    for (int i = 0; i < kSkinnyDepth; ++i) {
      const reg<float> element = a_tile[row][i];
#pragma unroll
      for (int j = 0; j < kCols; ++j) sum[j] += element * column[j][i];
    }
#pragma unroll
    for (int j = 0; j < kCols; ++j)
      if (first_col + j * kThreads < n) c[(first_row + row) * n + first_col + j * kThreads] = sum[j];
  }
}

Launch launch_shape(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return {{blocks_for(n, kThreads * kCols), blocks_for(m, p.at("rows"))}, {kThreads}};
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/skinny_registers",
    .order = 68,
    .title = "skinny, B in registers",
    .idea = "For a depth of 16: a thread keeps its columns of B in registers and computes them for many rows of A.",
    .source = {{"volkov2008"}},
    .tunables = {{"rows", Rows::values()}},
    .refuse = refuse_depth,
    .gpu =
        {
            .launch = launch_shape,
            .requested =
                [](const Params& p) {
                  const auto [m, n, k] = matmul_shape(p);
                  const auto [across, down, deep] = launch_shape(p).grid;
                  return Traffic{.loaded = 4.0 * kSkinnyDepth * (double(m) * across + double(n) * down),
                                 .stored = bytes_of_c(p)};
                },
        },
    .run =
        [](const Call& call) {
          const MatmulShape shape = matmul_shape(call.params);
          Rows::pick(call.params.at("rows"), [&](auto rows) {
            launch(call, skinny_registers<rows>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), shape.m, shape.n);
          });
        },
});

}  // namespace
}  // namespace rung
