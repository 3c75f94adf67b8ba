/// A tile in shared memory, so that loads and stores both run along rows: four sectors per request. But the tile is
/// read by columns, and each column is in one bank: such a request takes 32 wavefronts. Each thread has four loads in
/// flight. Expect far more than the naive kernels reach, and less than a copy.
#include "gpu/transpose/tile.hpp"

namespace rung {
namespace {

struct ByRows {
  static constexpr int kElements = kTile * kTile;
  __device__ static int at(int row, int col) { return row * kTile + col; }
};

const bool added = add_gpu_kernel({
    .name = "gpu/transpose/tile",
    .order = 30,
    .title = "shared tile",
    .idea = "A tile goes through shared memory, so that both matrices are accessed along their rows.",
    .source = {{"harris2013transpose"}, {"ruetsch2009"}},
    .gpu = tile_launch(),
    .run = run_tile<ByRows>,
});

}  // namespace
}  // namespace rung
