/// As many blocks as there are multiprocessors stay until all is done, and each takes tile after tile: the ring of
/// stages fills for the next tile while the last one is multiplied and stored. Tiles go in groups of 8 rows, column by
/// column, so that the blocks that run together share rows of A and columns of B in L2.
/// Source: CUTLASS, persistent kernels and threadblock swizzling.
#include "gpu/matmul/hopper.hpp"

namespace rung {
namespace hopper {

/// Tiles in waves: block b has the tiles b, b + blocks, b + 2 blocks …
struct Waves {
  static constexpr bool kShares = false;
  int tiles, k_tiles, tile;

  __device__ explicit Waves(const Work& work)
      : tiles(work.tiles), k_tiles(work.k_tiles), tile(static_cast<int>(blockIdx.x)) {}
  __device__ int total() const {
    const int blocks = gridDim.x;
    return tile < tiles ? (tiles - tile + blocks - 1) / blocks * k_tiles : 0;
  }
  __device__ bool next(Piece& piece) {
    if (tile >= tiles) return false;
    piece = {tile, 0, k_tiles};
    tile += gridDim.x;
    return true;
  }
  __device__ static Place place(int tile, int rows, int cols) { return grouped_place(tile, rows, cols); }
};

}  // namespace hopper

namespace {

using Tile = hopper::Tile128x256;
constexpr hopper::Shape kShape = Tile::kShape;

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/persistent",
    .order = 180,
    .title = "persistent",
    .idea = "Blocks stay and take tile after tile, in an order that keeps what they share in L2.",
    .source = "CUTLASS, persistent kernels and threadblock swizzling",
    .is_general = true,
    .min_compute_capability = 90,
    .not_emulated = hopper::kNotEmulated,
    .launch = [](const Params& p) { return hopper::persistent_launch(kShape, matmul_shape(p), {}); },
    .requested = [](const Params& p) { return hopper::traffic_of(kShape, p, {}); },
    .run = [](const Call& call) { hopper::run<Tile, hopper::Waves>(call, {}); },
});

}  // namespace
}  // namespace rung
