/// The tiled product written on views: a matrix is its extents, its stride (elements from one row to the next) and its
/// first element, and a tile of it is a view with the same stride. The kernel then names tiles and their elements
/// instead of sums of indices. The compiler removes the abstraction: expect the speed of gpu/matmul/tiled.
/// Source: IF3230 Sistem Paralel dan Terdistribusi (ITB, 2022), "Tiled matrix multiply", after NVIDIA's guide.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

using Tiles = Choices<16, 8, 32>;

/// A matrix in row-major order, or a part of one: Element is mem<float> or const mem<float>.
template <typename Element>
struct View {
  int width, height, stride;
  Element* elements;

  __device__ __forceinline__ Element& at(int row, int col) const { return elements[row * stride + col]; }
  /// The tile that is `down` tiles below and `right` tiles to the right of the first.
  template <int Tile>
  __device__ __forceinline__ View tile(int down, int right) const {
    return {Tile, Tile, stride, &elements[down * Tile * stride + right * Tile]};
  }
};

template <int Tile>
__global__ void matmul_views(View<const mem<float>> a, View<const mem<float>> b, View<mem<float>> c) {
  __shared__ mem<float> as[Tile][Tile];
  __shared__ mem<float> bs[Tile][Tile];
  const int row = threadIdx.y;
  const int col = threadIdx.x;
  reg<float> sum = 0;
  for (int phase = 0; phase < a.width / Tile; ++phase) {
    as[row][col] = a.template tile<Tile>(blockIdx.y, phase).at(row, col);
    bs[row][col] = b.template tile<Tile>(phase, blockIdx.x).at(row, col);
    __syncthreads();
    for (int i = 0; i < Tile; ++i) sum += as[row][i] * bs[i][col];
    __syncthreads();
  }
  c.template tile<Tile>(blockIdx.y, blockIdx.x).at(row, col) = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/views",
    .order = 45,
    .title = "views",
    .idea = "The tiled kernel on views instead of sums of indices: a tile is a matrix with a stride.",
    .source = {{"imam2022", "Tiled matrix multiply"}, {"cuda-guide", "shared memory"}},
    .tunables = {{"tile", Tiles::values()}},
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
          const int n = matmul_shape(call.params).n;
          Tiles::pick(call.params.at("tile"), [&](auto tile) {
            launch(call, matmul_views<tile>, View<const mem<float>>{n, n, n, call.operand<const mem<float>>(0)},
                   View<const mem<float>>{n, n, n, call.operand<const mem<float>>(1)},
                   View<mem<float>>{n, n, n, call.operand<mem<float>>(2)});
          });
        },
});

}  // namespace
}  // namespace rung
