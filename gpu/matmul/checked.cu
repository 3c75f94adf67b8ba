/// Tiles for any width: a thread whose element of a tile is outside the matrix writes 0 to shared memory, which does
/// not change a sum, and a thread without an element of C stores nothing. No thread returns early: each still loads
/// elements that others need, and must reach the barriers. Source: PMPP 4e, section 5.5, fig. 5.13.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

using Tiles = Choices<16, 8, 32, 2>;

template <int Tile>
__global__ void matmul_checked(const mem<float>* a, const mem<float>* b, mem<float>* c, int n) {
  __shared__ mem<float> as[Tile][Tile];
  __shared__ mem<float> bs[Tile][Tile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * Tile + ty;
  const int col = blockIdx.x * Tile + tx;
  reg<float> sum = 0;
  for (int phase = 0; phase < (n + Tile - 1) / Tile; ++phase) {
    if (row < n && phase * Tile + tx < n)
      as[ty][tx] = a[row * n + phase * Tile + tx];
    else
      as[ty][tx] = 0;
    if (phase * Tile + ty < n && col < n)
      bs[ty][tx] = b[(phase * Tile + ty) * n + col];
    else
      bs[ty][tx] = 0;
    __syncthreads();
    for (int i = 0; i < Tile; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/checked",
    .order = 50,
    .title = "checked",
    .idea = "Every access has its own bounds check, so that tiles work for any width.",
    .source = {{"pmpp", "section 5.5, figure 5.13"}},
    .tunables = {{.name = "tile", .values = Tiles::values(), .what = "elements along a tile"}},
    .refuse = [](const Params& p) { return refuse_rectangular(matmul_shape(p)); },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  const auto tile = static_cast<unsigned>(p.at("tile"));
                  const unsigned blocks = blocks_for(matmul_shape(p).n, tile);
                  return Launch{{blocks, blocks}, {tile, tile}};
                },
            .requested =
                [](const Params& p) {
                  const double n = matmul_shape(p).n;
                  // A is loaded once for each column of tiles, B once for each row of tiles.
                  const double tiles = blocks_for(matmul_shape(p).n, p.at("tile"));
                  return Traffic{.loaded = 8 * n * n * tiles, .stored = 4 * n * n};
                },
        },
    .run =
        [](const Call& call) {
          Tiles::pick(call.params.at("tile"), [&](auto tile) {
            launch(call, matmul_checked<tile>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), matmul_shape(call.params).n);
          });
        },
});

}  // namespace
}  // namespace rung
