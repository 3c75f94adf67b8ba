/// A block copies its tile and a halo of R pixels on every side into shared memory; each thread then adds up the
/// windows of its pixels from there. Each pixel is loaded from global memory little more than once, (1 + 2 R / tile)^2
/// times, but there are as many additions as in the naive kernel, and a load from shared memory for each: the floor is
/// shared memory's bandwidth, and the rate still falls with the square of the radius. Source: PMPP 4e, section 7.4
/// (tiled convolution with halo cells).
#include "gpu/blur/window.hpp"

namespace rung {
namespace {

using Tile = Choices<64, 32>;

constexpr int kWarps = 8;

template <int Side>
__global__ void __launch_bounds__(32 * kWarps) blur_shared_tile(const mem<float>* x, mem<float>* y, BlurImage g) {
  mem<float>* const tile = dynamic_shared<mem<float>>();
  const int width = Side + 2 * g.radius;
  const int top = blockIdx.y * Side, left = blockIdx.x * Side;
  for (int r = threadIdx.y; r < width; r += kWarps)
    for (int c = threadIdx.x; c < width; c += 32) {
      const int row = top + r - g.radius, col = left + c - g.radius;
      const bool inside = row >= 0 && row < g.rows && col >= 0 && col < g.cols;
      tile[r * width + c] = inside ? x[row_at(row, g) + col] : 0.0f;
    }
  __syncthreads();  // the tile is complete before any thread reads what others loaded
  for (int r = threadIdx.y; r < Side; r += kWarps)
    for (int c = threadIdx.x; c < Side; c += 32) {
      const int row = top + r, col = left + c;
      if (row >= g.rows || col >= g.cols) continue;
      reg<float> sum = 0;
      for (int i = 0; i <= 2 * g.radius; ++i)
        for (int j = 0; j <= 2 * g.radius; ++j) sum += tile[(r + i) * width + c + j];
      const int pixels = pixels_of(window_at(row, g.rows, g.radius)) * pixels_of(window_at(col, g.cols, g.radius));
      y[row_at(row, g) + col] = sum / static_cast<float>(pixels);
    }
}

const bool added = add_gpu_kernel({
    .name = "gpu/blur/shared_tile",
    .order = 20,
    .title = "shared tile",
    .idea = "A block copies a tile and its halo into shared memory, and every window is added up from there.",
    .source = {{"pmpp", "section 7.4"}},
    .tunables = {{"tile", Tile::values()}},
    .gpu = {.launch =
                [](const Params& p) {
                  const std::int64_t tile = p.at("tile"), width = tile + 2 * p.at("radius");
                  return Launch{{blocks_for(p.at("n"), tile), blocks_for(p.at("m"), tile)},
                                {32, kWarps},
                                sizeof(float) * static_cast<std::size_t>(width * width)};
                },
            .requested =
                [](const Params& p) {
                  const std::int64_t tile = p.at("tile"), radius = p.at("radius");
                  return Traffic{.loaded = 4 * pixels_of_pieces(p.at("m"), tile, radius, radius) *
                                           pixels_of_pieces(p.at("n"), tile, radius, radius),
                                 .stored = 4 * blur_pixels(p)};
                }},
    .run =
        [](const Call& call) {
          Tile::pick(call.params.at("tile"), [&](auto side) {
            launch(call, blur_shared_tile<side>, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                   blur_image(call.params));
          });
        },
});

}  // namespace
}  // namespace rung
