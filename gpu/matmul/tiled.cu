/// A block computes a Tile x Tile tile of C in k / Tile phases. In each phase its threads load one tile of A and one of
/// B into shared memory, one element of each per thread, and every element loaded is then used Tile times. Global loads
/// decrease by a factor of Tile: 4 operations per requested byte for 16-wide tiles, 8 for 32-wide ones.
/// Source: PMPP 4e, section 5.4, fig. 5.9.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

using Tiles = Choices<16, 8, 32, 2>;

template <int Tile>
__global__ void matmul_tiled(const mem<float>* a, const mem<float>* b, mem<float>* c, int n) {
  __shared__ mem<float> as[Tile][Tile];
  __shared__ mem<float> bs[Tile][Tile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * Tile + ty;
  const int col = blockIdx.x * Tile + tx;
  reg<float> sum = 0;
  for (int phase = 0; phase < n / Tile; ++phase) {
    as[ty][tx] = a[row * n + phase * Tile + tx];
    bs[ty][tx] = b[(phase * Tile + ty) * n + col];
    __syncthreads();  // the tiles are complete before any thread reads what others loaded
    for (int i = 0; i < Tile; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();  // all threads have finished with the tiles before the next phase overwrites them
  }
  c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/tiled",
    .order = 40,
    .title = "tiled",
    .idea = "The threads of a block load each tile of A and B into shared memory once, and all of them use it.",
    .source = {{"pmpp", "section 5.4, figure 5.9"}},
    .tunables = {{.name = "tile", .values = Tiles::values(), .what = "elements along a tile"}},
    .refuse = [](const Params& p) -> std::string {
      const MatmulShape shape = matmul_shape(p);
      if (std::string why = refuse_rectangular(shape); !why.empty()) return why;
      if (shape.n % p.at("tile") != 0) return "n must be a multiple of the tile; gpu/matmul/checked takes any n";
      return "";
    },
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
                  return Traffic{.loaded = 8 * n * n * n / static_cast<double>(p.at("tile")), .stored = 4 * n * n};
                },
        },
    .run =
        [](const Call& call) {
          Tiles::pick(call.params.at("tile"), [&](auto tile) {
            launch(call, matmul_tiled<tile>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), matmul_shape(call.params).n);
          });
        },
});

}  // namespace
}  // namespace rung
