/// The checked tiles for an m x k matrix times a k x n one: each index is compared with the extent of its own
/// dimension. Source: PMPP 4e, the exercise that ends section 5.5 (there j x k times k x l).
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

using Tiles = Choices<16, 8, 32>;

template <int Tile>
__global__ void matmul_rectangular(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n, int k) {
  __shared__ mem<float> as[Tile][Tile];
  __shared__ mem<float> bs[Tile][Tile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * Tile + ty;
  const int col = blockIdx.x * Tile + tx;
  reg<float> sum = 0;
  for (int phase = 0; phase < (k + Tile - 1) / Tile; ++phase) {
    if (row < m && phase * Tile + tx < k)
      as[ty][tx] = a[row * k + phase * Tile + tx];
    else
      as[ty][tx] = 0;
    if (phase * Tile + ty < k && col < n)
      bs[ty][tx] = b[(phase * Tile + ty) * n + col];
    else
      bs[ty][tx] = 0;
    __syncthreads();
    for (int i = 0; i < Tile; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/rectangular",
    .order = 60,
    .title = "rectangular",
    .idea = "Three extents instead of one width: any m x k times any k x n.",
    .source = {{"pmpp", "section 5.5, exercise"}},
    .tunables = {{"tile", Tiles::values()}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const auto [m, n, k] = matmul_shape(p);
              const auto tile = static_cast<unsigned>(p.at("tile"));
              return Launch{{blocks_for(n, tile), blocks_for(m, tile)}, {tile, tile}};
            },
        .requested =
            [](const Params& p) {
              const auto [m, n, k] = matmul_shape(p);
              const double tiles_across = blocks_for(n, p.at("tile")), tiles_down = blocks_for(m, p.at("tile"));
              return Traffic{.loaded = 4.0 * m * k * tiles_across + 4.0 * k * n * tiles_down, .stored = 4.0 * m * n};
            },
    },
    .run =
        [](const Call& call) {
          const MatmulShape shape = matmul_shape(call.params);
          Tiles::pick(call.params.at("tile"), [&](auto tile) {
            launch(call, matmul_rectangular<tile>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), shape.m, shape.n, shape.k);
          });
        },
});

}  // namespace
}  // namespace rung
