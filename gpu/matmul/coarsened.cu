/// One thread computes several elements of a row of C, one in each of several neighbouring tiles: the tile of A is
/// brought into shared memory once for all of them, and what a thread reads from it is used more than once.
/// Source: PMPP 4e, section 6.3 (thread coarsening); the bounds checks as in section 5.5.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kTile = 32;
using Outputs = Choices<4, 2, 8>;

template <int Outputs>
__global__ void matmul_coarsened(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n, int k) {
  __shared__ mem<float> as[kTile][kTile];
  __shared__ mem<float> bs[kTile][kTile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty;
  const int first_col = blockIdx.x * kTile * Outputs + tx;
  reg<float> sum[Outputs];
  for (int out = 0; out < Outputs; ++out) sum[out] = 0;
  for (int phase = 0; phase < (k + kTile - 1) / kTile; ++phase) {
    if (row < m && phase * kTile + tx < k)
      as[ty][tx] = a[row * k + phase * kTile + tx];
    else
      as[ty][tx] = 0;
#pragma unroll
    for (int out = 0; out < Outputs; ++out) {
      const int col = first_col + out * kTile;
      if (phase * kTile + ty < k && col < n)
        bs[ty][tx] = b[(phase * kTile + ty) * n + col];
      else
        bs[ty][tx] = 0;
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kTile; ++i) sum[out] += as[ty][i] * bs[i][tx];
      __syncthreads();
    }
  }
#pragma unroll
  for (int out = 0; out < Outputs; ++out) {
    const int col = first_col + out * kTile;
    if (row < m && col < n) c[row * n + col] = sum[out];
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/coarsened",
    .order = 62,
    .title = "coarsened",
    .idea = "One thread computes several elements of a row, so a tile of A in shared memory serves several tiles of B.",
    .source = "PMPP 4e, section 6.3",
    .tunables = {{"outputs", Outputs::values()}},
    .launch =
        [](const Params& p) {
          const auto [m, n, k] = matmul_shape(p);
          return Launch{{blocks_for(n, kTile * p.at("outputs")), blocks_for(m, kTile)}, {kTile, kTile}};
        },
    .requested =
        [](const Params& p) {
          const auto [m, n, k] = matmul_shape(p);
          const double bands = blocks_for(n, kTile * p.at("outputs"));  // each reads all of A once
          return Traffic{.loaded = 4.0 * k * (bands * m + double(blocks_for(m, kTile)) * n), .stored = 4.0 * m * n};
        },
    .run =
        [](const Call& call) {
          const auto shape = matmul_shape(call.params);
          Outputs::pick(call.params.at("outputs"), [&](auto outputs) {
            launch(call, matmul_coarsened<outputs>, call.operand<const mem<float>>(0),
                   call.operand<const mem<float>>(1), call.operand<mem<float>>(2), shape.m, shape.n, shape.k);
          });
        },
});

}  // namespace
}  // namespace rung
