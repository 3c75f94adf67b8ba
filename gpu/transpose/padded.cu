/// The tile with one more element in each row: the elements of a column are 33 words apart, in 32 different banks, and
/// a request takes one wavefront again. It costs 128 bytes of shared memory.
#include "gpu/transpose/tile.hpp"

namespace rung {
namespace {

struct Padded {
  static constexpr int kElements = kTile * (kTile + 1);
  __device__ static int at(int row, int col) { return row * (kTile + 1) + col; }
};

const bool added = add_gpu_kernel({
    .name = "gpu/transpose/padded",
    .order = 40,
    .title = "padded tile",
    .idea = "One more element in each row of the tile shifts each row by a bank: columns are free of conflicts.",
    .source = {{"harris2013transpose"}, {"ruetsch2009"}},
    .gpu = tile_launch(),
    .run = run_tile<Padded>,
});

}  // namespace
}  // namespace rung
